# A small Monte Carlo of e+ e- -> Z/gamma* -> mu+ mu- in three phases; mc.sh
# runs it. It keeps to POSIX awk without its mathematical functions, which some
# small awks lack, and computes with + - * / and whole numbers modulo another,
# which IEEE 754 rounds the same way everywhere: so every awk writes the same
# bytes, and because each event has random numbers of its own, so does every way
# of cutting the events into jobs.
#
# Variables: phase; n, the number of events; out, the file to write; for
# generate also first, the first event; for reconstruct also hist, the file
# for the histogram. The later phases read the file of the phase before.
#
# generate.*.txt     event mass(GeV) cos(theta) then px py pz of mu- and of mu+ (GeV)
# simulate.*.txt     event, then for mu- and mu+: px py pz (GeV) and the energy
#                    in 6 layers of the calorimeter (MeV)
# reconstruct.*.txt  event mass(GeV) verdict, where the verdict is the first cut
#                    that the event fails, or "accepted"
# histogram.txt      counts: generated, accepted, and of the accepted events
#                    those in each GeV of mass; histograms are merged by adding

# seed starts the random numbers of one event in one phase. The square makes
# the events independent of each other. Numbers stay below 2^53, and quotients
# so small that an awk may compute a % b as a - int(a / b) * b.
function seed(event, stream,    x) {
	x = event % 16777213
	x = (x * x + 3 * x + 7919 * stream + int(event / 16777213)) % 2147483646
	state = x + 1
	for (x = 0; x < 4; x++) uniform()
}

# uniform is the generator of Park and Miller with the multiplier 48271 (CACM
# 36(7), 1993, p. 108): numbers between 0 and 1, both excluded.
function uniform() {
	state = (state * 48271) % 2147483647
	return state / 2147483647
}

# gauss is a normal deviate, as the sum of 12 uniform ones.
function gauss(    i, sum) {
	sum = -6
	for (i = 0; i < 12; i++) sum += uniform()
	return sum
}

# cauchy is a Cauchy deviate: the ratio of the coordinates of a point in the
# upper half of the unit disc.
function cauchy(    x, y) {
	do {
		x = 2 * uniform() - 1
		y = uniform()
	} while (x * x + y * y > 1)
	return x / y
}

# circle sets ux, uy to a random direction in the plane.
function circle(    x, y, r) {
	do {
		x = 2 * uniform() - 1
		y = 2 * uniform() - 1
		r = x * x + y * y
	} while (r > 1 || r == 0)
	ux = (x * x - y * y) / r
	uy = 2 * x * y / r
}

# root is the square root of a positive number, by Newton's method.
function root(x,    r, old) {
	r = x > 1 ? x : 1
	do {
		old = r
		r = (r + x / r) / 2
	} while (r < old)
	return old
}

# generate writes one event: the mass from a Breit-Wigner of the Z (mass
# 91.1876 GeV, width 2.4952 GeV: Particle Data Group), cut off at 60 and 120
# GeV; the angle from 1 + cos^2 theta; two muons back to back.
function generate(event,    mass, c, p, pt) {
	seed(event, 1)
	do mass = 91.1876 + 2.4952 / 2 * cauchy(); while (mass < 60 || mass >= 120)
	do c = 2 * uniform() - 1; while (2 * uniform() > 1 + c * c)
	circle()
	p = root(mass * mass / 4 - 0.1056584 * 0.1056584)
	pt = p * root(1 - c * c)
	printf "%.0f %.6f %.6f %.6f %.6f %.6f %.6f %.6f %.6f\n", event, mass, c, \
		pt * ux, pt * uy, p * c, -pt * ux, -pt * uy, -p * c > out
}

# simulate writes what the detector sees of a generated event ($0).
function simulate(    line) {
	seed($1, 2)
	line = track($4, $5, $6) track($7, $8, $9)
	printf "%.0f%s\n", $1, line > out
}

# track is one muon in the detector: its momentum, blurred by 2 % as from a
# tracking chamber, and its energy loss in 6 layers of 60 steps, most of them
# small, some large.
function track(px, py, pz,    blur, layer, step, loss, large, line) {
	blur = 1 + 0.02 * gauss()
	line = sprintf(" %.6f %.6f %.6f", px * blur, py * blur, pz * blur)
	for (layer = 0; layer < 6; layer++) {
		loss = 0
		for (step = 0; step < 60; step++) {
			large = 0.5 / uniform()
			loss += 8 + 2 * gauss() + (large < 40 ? large : 40)
		}
		line = line sprintf(" %.3f", loss)
	}
	return line
}

# reconstruct writes the mass of the muon pair of a simulated event ($0) and
# what the cuts say, and counts.
function reconstruct(    e1, e2, px, py, pz, m, verdict) {
	e1 = energy($2, $3, $4)
	e2 = energy($11, $12, $13)
	px = $2 + $11; py = $3 + $12; pz = $4 + $13
	m = (e1 + e2) * (e1 + e2) - px * px - py * py - pz * pz
	m = m > 0 ? root(m) : 0
	verdict = "accepted"
	if ($4 * $4 > 0.9025 * e1 * e1 || $13 * $13 > 0.9025 * e2 * e2) verdict = "acceptance" # |cos theta| > 0.95
	else if ($2 * $2 + $3 * $3 < 225 || $11 * $11 + $12 * $12 < 225) verdict = "pt"        # below 15 GeV
	else if ($10 > 850 || $19 > 850) verdict = "shower"                                    # more than a muon in the last layer
	else if (m < 60 || m >= 120) verdict = "mass"
	if (verdict == "accepted") {
		accepted++
		bin[int(m)]++
	}
	printf "%.0f %.6f %s\n", $1, m, verdict > out
}

function energy(px, py, pz) { return root(px * px + py * py + pz * pz + 0.1056584 * 0.1056584) }

# histogram writes the counts.
function histogram(    i) {
	printf "generated %d\naccepted %d\n", done, accepted > hist
	for (i = 60; i < 120; i++) printf "mass_%d %d\n", i, bin[i] > hist
	close(hist)
}

# told counts an event, and tells jjm how far the phase is, now and then.
function told() {
	done++
	if (ENVIRON["JJM_PROGRESS"] != "" && (done % 25 == 0 || done == n))
		system("\"$JJM_PROGRESS\" " phase " " done " " n)
}

# trouble misbehaves at the event that the environment names, and only there.
function trouble(event) {
	if (at("MC_EXIT_AT", event)) leave(3)
	if (at("MC_FAIL_AT", event)) leave(10)
	if (at("MC_RETRY_AT", event)) leave(11)
	if (at("MC_HOLD_AT", event)) leave(12)
	if (at("MC_HANG_AT", event)) system("exec sleep 1000000")
	if (at("MC_KILL_AT", event)) {
		system("kill -9 \"$MC_PID\"")
		leave(9)
	}
}

function at(variable, event) { return ENVIRON[variable] != "" && ENVIRON[variable] + 0 == event }

function leave(code) {
	failed = code
	exit code
}

BEGIN {
	done = 0
	accepted = 0
	failed = 0
	if (phase == "generate") {
		for (i = 0; i < n; i++) {
			generate(first + i)
			told()
		}
		exit 0
	}
}

phase == "simulate" { trouble($1 + 0); simulate(); told() }

phase == "reconstruct" { reconstruct(); told() }

END {
	if (failed) exit failed
	close(out)
	if (phase == "reconstruct") histogram()
	if (done != n) exit 4
}
