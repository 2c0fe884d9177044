# jjm as a job manager of Globus GRAM5: what the job manager asks of a batch
# system - submit, poll, cancel, signal, stage - is asked of jjm.
#
# GRAM reads this process's standard output as a protocol in which one line too
# many fails the job, and one blank line the next job as well. So nothing here
# prints but through the base class, the programs that are run have descriptors
# of their own, what they say is taken only where it has the form expected, and
# no verb dies. Trouble with a poll is "no news", for GRAM asks again.
#
# The work is done by "jjm-gatekeeper gram submit|poll|cancel", which reads the
# description as RSL and answers lines KEY=value (package internal/gatekeeper/gram).
# Its "use POSIX" imports into the package that loads it first.
use Globus::GRAM::JobManager ();

package Globus::GRAM::JobManager::jjm;

use strict;
use warnings;

use Errno ();
use IO::Select ();
use POSIX ();

use Globus::Core::Config ();
use Globus::Core::Paths ();
use Globus::GRAM::Error ();
use Globus::GRAM::JobSignal ();
use Globus::GRAM::JobState ();

our @ISA = qw(Globus::GRAM::JobManager);

# A program that has not answered after this many seconds is killed. jjm answers
# within one; a job manager has five of these processes for all jobs of a user.
use constant PATIENCE => 25;

# What a program may say, in bytes.
use constant LONGEST => 65536;

# What GRAM is told of each state. A job that no batch system has yet, 32, is
# pending to GRAM: clients take that state, after files were staged in, for the
# job's end.
my %STATE = (1 => 1, 2 => 2, 4 => 4, 8 => 8, 16 => 16, 32 => 1);

sub new
{
    my ($proto, @args) = @_;
    my $class = ref($proto) || $proto;
    my $self = $class->SUPER::new(@args);
    return unless $self;
    my $file = $ENV{JJM_GRAM_CONF} || '${sysconfdir}/globus/globus-jjm.conf';
    $self->{JJM} = eval { Globus::Core::Config->new($file) };
    return bless $self, $class;
}

# submit is called again with the same uniq_id when a job manager died in it: jjm
# gives the same job again.
sub submit
{
    my $self = shift;
    my $answer = eval { $self->ask('submit') };
    my $id = $answer->{JOB_ID};
    if (defined $id && $id =~ /\A[A-Za-z0-9.-]{1,64}\z/) {
        return { JOB_ID => $id, JOB_STATE => $self->state($answer) || Globus::GRAM::JobState::PENDING };
    }
    return $self->refuse($answer, 126, "jjm gave no id: $@");
}

sub poll
{
    my $self = shift;
    my $result = eval {
        my $answer = $self->ask('poll');
        my $state = $self->state($answer);
        !$state ? {} : $state == Globus::GRAM::JobState::FAILED ? $self->failed($answer) : { JOB_STATE => $state };
    };
    $self->note("poll: $@") if $@;
    return ref $result ? $result : {};
}

# failed reports a failure together with its outputs: of a failed job GRAM itself
# returns nothing.
sub failed
{
    my ($self, $answer) = @_;
    my $staged = $self->stage_out();
    if (UNIVERSAL::isa($staged, 'Globus::GRAM::Error')) {
        $answer->{MESSAGE} = ($answer->{MESSAGE} || 'the job failed') . '; its outputs could not be returned';
    }
    return $self->refuse($answer, 17, 'the job failed');
}

# cancel stores the wish. The job ends through poll, once its outputs are there:
# were the state told here, they would not be returned.
sub cancel
{
    my $self = shift;
    my $answer = eval { $self->ask('cancel') };
    return {} if $answer && $answer->{CANCEL};
    $answer->{ERROR} = undef if $answer;
    return $self->refuse($answer, 31, "jjm did not take the cancel: $@", 1);
}

sub signal
{
    my $self = shift;
    my $signal = $self->{JobDescription}->signal();
    return $self->cancel() if defined $signal && $signal eq Globus::GRAM::JobSignal::CANCEL;
    return Globus::GRAM::Error::UNIMPLEMENTED;
}

# stage_in notes which files it brings: when it is time to submit, the description
# lists those no more.
sub stage_in
{
    my $self = shift;
    my $description = $self->{JobDescription};
    my @names = map { ref $_ eq 'ARRAY' ? $_->[1] : () } ($description->file_stage_in(), $description->file_stage_in_shared());
    if (@names && open my $list, '>>', $self->job_dir() . '/jjm-staged-in') {
        print {$list} map { "$_\n" } grep { defined && !/\n/ } @names;
        close $list;
    }
    return $self->guarded('stage_in', sub { $self->SUPER::stage_in() }, Globus::GRAM::Error::STAGE_IN_FAILED);
}

sub stage_out
{
    my $self = shift;
    return $self->guarded('stage_out', sub { $self->SUPER::stage_out() }, Globus::GRAM::Error::STAGE_OUT_FAILED);
}

# guarded runs a verb of the base class, which may die.
sub guarded
{
    my ($self, $what, $verb, $error) = @_;
    my $result = eval { $verb->() };
    $self->note("$what: $@") if $@;
    return ref $result ? $result : $error;
}

# ---- what is answered to GRAM ------------------------------------------------

sub state
{
    my ($self, $answer) = @_;
    my $state = $answer->{JOB_STATE};
    return defined $state && $STATE{$state} || 0;
}

# refuse gives GRAM an error and its text. With mute the text goes to the log:
# of a cancel, GRAM takes no other line.
sub refuse
{
    my ($self, $answer, $code, $text, $mute) = @_;
    $code = $answer->{ERROR} if $answer && ($answer->{ERROR} || '') =~ /\A[1-9][0-9]{0,2}\z/;
    $text = $answer->{MESSAGE} if $answer && $answer->{MESSAGE};
    $text =~ s/[^ -~]/ /g;
    if ($mute) {
        $self->note($text);
    } else {
        $self->respond({ GT3_FAILURE_MESSAGE => substr($text, 0, 1000) });
    }
    return Globus::GRAM::Error->new($code);
}

# note writes one line to the job manager's log.
sub note
{
    my ($self, $text) = @_;
    $text =~ s/[^ -~]/ /g;
    $self->log('jjm: ' . substr($text, 0, 1000));
}

# ---- jjm ---------------------------------------------------------------------

# ask runs a verb of jjm-gatekeeper on this job and gives its answer, a hash.
sub ask
{
    my ($self, $verb) = @_;
    my $conf = $self->{JJM};
    my $programs = $conf && $conf->get_attribute('programs') || '/usr/bin';
    my $state = $conf && $conf->get_attribute('state') || '';
    local %ENV = (%ENV, $state ne '' ? (JJM_STATE => $state) : ());
    my ($out, $err, $how) = converse($self->rsl(), "$programs/jjm-gatekeeper", 'gram', $verb);
    my %answer;
    for my $line (split /\n/, $out) {
        $answer{$1} = $2 if $line =~ /\A([A-Z_]{1,32})=([ -~]*)\z/ || $line =~ /\A(MESSAGE)=(.*)\z/;
    }
    $self->note("$verb: $how $err") if $how || $err ne '';
    $answer{MESSAGE} = "$how $err" if !%answer;
    return \%answer;
}

# rsl writes the job description as the RSL that it came from, with the files that
# were staged in.
sub rsl
{
    my $self = shift;
    my $description = $self->{JobDescription};
    my $text = '&';
    if (open my $list, '<', $self->job_dir() . '/jjm-staged-in') {
        my %names = map { chomp; $_ => 1 } <$list>;
        $text .= '(jjmstagedin=' . join(' ', map { literal($_) } sort keys %names) . ")\n";
        close $list;
    }
    for my $name (sort keys %$description) {
        my $values = $description->{$name};
        next unless $name =~ /\A[a-z][a-z0-9]*\z/ && $name ne 'jjmstagedin' && ref $values eq 'ARRAY';
        $text .= "($name=" . join(' ', map { literal($_) } @$values) . ")\n";
    }
    return $text;
}

sub literal
{
    my $value = shift;
    return '(' . join(' ', map { literal($_) } @$value) . ')' if ref $value eq 'ARRAY';
    $value = '' unless defined $value;
    $value =~ s/"/""/g;
    return "\"$value\"";
}

# converse runs a program on a text. It gives what the program wrote on standard
# output and on standard error, and how it went wrong, if it did. The program has
# no descriptor of ours, and it and its children are killed when it takes too
# long.
sub converse
{
    my ($text, @command) = @_;
    local $SIG{PIPE} = 'IGNORE';
    # Open for each other's sake only; a descriptor above 2 is closed by exec.
    pipe(my $from, my $to_child) && pipe(my $out, my $out_child) && pipe(my $err, my $err_child)
        or return ('', '', "pipe: $!");
    my $pid = fork();
    return ('', '', "fork: $!") unless defined $pid;
    if ($pid == 0) {
        POSIX::setpgid(0, 0);
        $SIG{PIPE} = 'DEFAULT';
        POSIX::dup2(fileno $from, 0);
        POSIX::dup2(fileno $out_child, 1);
        POSIX::dup2(fileno $err_child, 2);
        { no warnings 'exec'; exec { $command[0] } @command; }
        POSIX::_exit(127);
    }
    close $from;
    close $out_child;
    close $err_child;
    my ($said, $late) = exchange($text, $to_child, $out, $err);
    kill 'KILL', -$pid, $pid if $late;
    waitpid $pid, 0;
    my $how = $late ? 'no answer in time' : $? == 127 << 8 ? "cannot run $command[0]" : $? ? "status $?" : '';
    return ($said->{out}, $said->{err}, $how);
}

# exchange writes the text and reads both answers at once, until they end or time
# is up.
sub exchange
{
    my ($text, $to, $out, $err) = @_;
    my %said = (out => '', err => '');
    my %name = (fileno $out => 'out', fileno $err => 'err');
    my $readers = IO::Select->new($out, $err);
    my $writers = IO::Select->new($to);
    $to->blocking(0);
    my $end = time + PATIENCE;
    while ($readers->count) {
        my $left = $end - time;
        return (\%said, 1) if $left <= 0;
        my ($read, $write) = IO::Select->select($readers, $writers, undef, $left);
        for my $handle (@{ $write || [] }) {
            my $n = syswrite $handle, $text;
            substr $text, 0, $n, '' if defined $n;
            next if defined $n ? $text ne '' : $!{EAGAIN} || $!{EINTR};
            $writers->remove($handle);
            close $handle;
        }
        for my $handle (@{ $read || [] }) {
            my $n = sysread $handle, my $some, 8192;
            next if !defined $n && $!{EINTR};
            if (!$n) {
                $readers->remove($handle);
                next;
            }
            my $which = $name{ fileno $handle };
            $said{$which} .= $some if length $said{$which} < LONGEST;
        }
    }
    return (\%said, 0);
}

1;
