// Command tiers runs one tier of jjm's tests and reports what the run cost.
//
//	go run ./test/tiers unit          the tests that need no daemon, batch system or account
//	go run ./test/tiers test          make test
//	go run ./test/tiers faults        a campaign, by name; "campaign" runs every test
//	go run ./test/tiers test slurm    some steps of a tier
//
// A tier is a list of steps. Each step runs some packages. The real batch systems that the step names are started
// before the step and stopped after it. gotestsum runs the packages, at most two at a time, or three on a quick machine
// (JJM_TEST_JOBS). When all steps are over, each failed test runs again, alone, at most twice. After more than 20
// failures no test runs again.
//
// go test takes the results of the tier "unit" from its cache while a package's files stay the same, in "make test"
// too. What tests find out about the machine through package needs counts as one of these files.
//
// The report at the end has the yardstick of the machine, wall and CPU time of the run, the packages and tests that
// cost most, the tests that passed only in a second run (FLAKY), and the tests that failed. The exit status is 0 if
// every test passed, 1 if a test failed or was left out without a reason, and 2 if the run could not begin.
//
// The temporary files of a failed step are kept until the next run of a tier that uses batch systems begins.
//
// Two runs on one machine would disturb each other, because they share its ports, accounts and batch systems. The
// second run waits for the first and prints that it waits.
package main
