# What ARC's information system publishes of jjm: slots and depths as jjm itself
# counts them, and how each job of A-REX stands. Without it A-REX's clients never
# hear that a job runs.
#
# All is asked in one run of "jjm-gatekeeper arc info", which reads job ids and
# answers lines KEY=value; KEY is cluster.NAME or job.ID.NAME.
package JJMmod;

use strict;
use warnings;

require Exporter;
our @ISA       = qw(Exporter);
our @EXPORT_OK = qw(get_lrms_info get_lrms_options_schema);

use LogUtils ();

our $log = LogUtils->getLogger(__PACKAGE__);

# A figure that nothing limits: the most that ARC's LDAP takes.
use constant UNLIMITED => 2**31 - 1;

sub get_lrms_options_schema
{
    return { queues => { '*' => { users => [''] } }, jobs => [''] };
}

sub get_lrms_info
{
    my $options = shift;
    my ($cluster, $jobs) = ask(@{ $options->{jobs} || [] });
    my %info = (
        cluster => {
            lrms_type       => 'jjm',
            lrms_version    => $cluster->{version} || 'unknown',
            totalcpus       => $cluster->{slots},
            usedcpus        => $cluster->{running},
            runningjobs     => $cluster->{running},
            queuedjobs      => $cluster->{queued},
            queuedcpus      => $cluster->{queued},
            cpudistribution => "1cpu:$cluster->{slots}",
        },
        queues => {},
        jobs   => {},
        nodes  => {},
    );
    for my $name (keys %{ $options->{queues} }) {
        $info{queues}{$name} = queue($cluster, $options->{queues}{$name}{users} || []);
    }
    for my $id (@{ $options->{jobs} || [] }) {
        my $job = $jobs->{$id} || {};
        $info{jobs}{$id} = {
            status  => $job->{status} || 'Q',
            comment => [$job->{comment} || 'jjm'],
            nodes   => [$job->{node} ? $job->{node} : ()],
            map { defined $job->{$_} ? ($_ => $job->{$_}) : () } qw(walltime cputime cpus mem),
        };
    }
    return \%info;
}

# queue is what one of ARC's queues offers: all of them are jjm.
sub queue
{
    my ($cluster, $users) = @_;
    my $free = $cluster->{slots} - $cluster->{running};
    $free = 0 if $free < 0;
    my %queue = (
        status     => $cluster->{healthy} ? $free : -1,
        maxrunning => $cluster->{slots},
        totalcpus  => $cluster->{slots},
        running    => $cluster->{running},
        queued     => $cluster->{queued},
        total      => $cluster->{running} + $cluster->{queued},
        users      => {},
    );
    $queue{maxqueuable} = UNLIMITED;
    $queue{users}{$_} = { freecpus => { $free => 0 }, queuelength => $cluster->{queued} } for @$users;
    return \%queue;
}

# ask gives what jjm says of itself and of jobs. While it says nothing there are
# no slots: a broker should go elsewhere.
sub ask
{
    my @ids = grep { /\A[A-Za-z0-9.-]{1,64}\z/ } @_;
    my %cluster = (slots => 0, running => 0, queued => 0, healthy => 0);
    my %jobs;
    my $conf = configuration('/etc/arc-jjm.conf');
    local %ENV = (%ENV, $conf->{state} ne '' ? (JJM_STATE => $conf->{state}) : ());
    my $program = "$conf->{programs}/jjm-gatekeeper";
    my $said = open my $out, '-|', $program, 'arc', 'info', @ids;
    $log->warning("cannot run $program: $!") unless $said;
    while ($said && defined(my $line = <$out>)) {
        if ($line =~ /\Acluster\.(slots|running|queued|healthy)=(\d{1,9})\Z/) {
            $cluster{$1} = $2;
        } elsif ($line =~ /\Acluster\.version=([ -~]{1,64})\Z/) {
            $cluster{version} = $1;
        } elsif ($line =~ /\Ajob\.([A-Za-z0-9.-]{1,64})\.([a-z]{1,16})=([ -~]{0,256})\Z/) {
            $jobs{$1}{$2} = $3;
        }
    }
    $log->warning("$program ended with status $?") if $said && !close $out;
    return (\%cluster, \%jobs);
}

# configuration reads name=value lines.
sub configuration
{
    my %conf = (programs => '/usr/bin', state => '');
    if (open my $file, '<', shift) {
        while (defined(my $line = <$file>)) {
            $conf{$1} = $3 if $line =~ /\A(programs|state)=(['"]?)(.+)\2\s*\Z/;
        }
        close $file;
    }
    return \%conf;
}

1;
