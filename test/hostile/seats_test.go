package hostile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/site"
)

// takeSeats opens connections without end, and sends half a request on each connection. Whenever the daemon refuses a
// connection because the account has reached its limit, the script touches a file and waits.
const takeSeats = `use IO::Socket::UNIX; $SIG{PIPE} = "IGNORE"; my @held;
while (1) {
	my $c = IO::Socket::UNIX->new(Peer => $ARGV[0]) or do { sleep 1; next };
	syswrite $c, '{"verb":"ping"';
	my ($r, $text) = (""); vec($r, fileno($c), 1) = 1;
	if (select($r, undef, undef, 0.3) && sysread($c, $text, 4096) && $text =~ /its limit/) {
		open(my $f, ">", $ARGV[1]); print $f "full"; close $f; select(undef, undef, undef, 0.5); next;
	}
	push @held, $c;
}`

// Several accounts open as many connections as they can, send half a request on each, and try to open more.
// Administrators and the other account still get connections.
func TestSeats_HeldByManyAccountsKeepNobodyOut(t *testing.T) {
	needs.Campaign(t, needs.Hostile)
	seats := full(1024, 60)
	s := besiege(t, site.Settings{RunAs: "owner", Gate: fmt.Sprintf("connections = %d\nrequest_time = \"10m\"", seats)})
	people := []site.Person{s.mallory}
	for range full(10, 4) - 1 {
		people = append(people, site.Account(t))
	}
	sign := func(p site.Person) string { return filepath.Join(s.Home(p), "full") }
	s.withstands(attack{
		name: fmt.Sprintf("%d accounts take the socket's %d connections", len(people), seats),
		begin: func() {
			for _, p := range people {
				cmd := p.As("perl", "-e", takeSeats, s.Dir+"/s/jjm.sock", sign(p))
				s.Must(cmd.Start())
				t.Cleanup(func() { p.KillAll(); _ = cmd.Wait() })
			}
		},
		inForce: func() error { // each account is refused again, because it holds as many connections as it can
			for _, p := range people {
				began := time.Now()
				s.Until("an account holds its seats", func() bool {
					info, err := os.Stat(sign(p))
					return err == nil && info.ModTime().After(began)
				})
			}
			return nil
		},
		end: func() {
			for _, p := range people {
				p.KillAll()
			}
		},
	})
}
