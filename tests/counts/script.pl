# SPDX-License-Identifier: GPL-2.0-or-later
# What perl runs for scripts/accuracy-counts: the same work every round, on some megabytes of objects.
#   script.pl ROUNDS
use strict;
use integer;

my $seed;
sub random { $seed = ($seed * 69069 + 12345) & 0x7fffffff; return ($seed >> 8) % $_[0] }

# lines of a table are written, and read again by a regular expression
sub table {
	my ($rows) = @_;
	my %sum;
	my $text = join "\n", map { sprintf "%s\t%d\t%s", chr(97 + random(26)) . chr(97 + random(8)), random(10000), "x" x random(20) } 1 .. $rows;
	for my $line (split /\n/, $text) {
		$sum{$1} += $2 if $line =~ /^([a-z]+)\t(\d+)\t/;
	}
	my $out = "";
	$out .= "$_=$sum{$_};" for sort { $sum{$b} <=> $sum{$a} || $a cmp $b } keys %sum;
	return length $out;
}

# a heap of jobs, each a hash with a list
sub jobs {
	my ($n) = @_;
	my (@heap, $done);
	for my $i (1 .. $n) {
		push @heap, { due => random(100000), name => "job $i", needs => [ map { random(50) } 1 .. 3 ] };
		my $at = $#heap;
		while ($at && $heap[($at - 1) / 2]{due} > $heap[$at]{due}) {
			my $up = ($at - 1) / 2;
			@heap[$at, $up] = @heap[$up, $at];
			$at = $up;
		}
	}
	while (@heap) {
		my $top = $heap[0];
		$done += $_ for @{ $top->{needs} };
		my $last = pop @heap;
		next unless @heap;
		my $at = 0;
		while ((my $down = 2 * $at + 1) < @heap) {
			$down++ if $down + 1 < @heap && $heap[$down + 1]{due} < $heap[$down]{due};
			last if $heap[$down]{due} >= $last->{due};
			$heap[$at] = $heap[$down];
			$at = $down;
		}
		$heap[$at] = $last;
	}
	return $done;
}

sub distance {
	my ($a, $b) = @_;
	my @row = 0 .. length $b;
	for my $i (1 .. length $a) {
		my @next = ($i);
		for my $j (1 .. length $b) {
			my $cost = $row[$j - 1] + (substr($a, $i - 1, 1) ne substr($b, $j - 1, 1));
			$cost = $row[$j] + 1 if $row[$j] + 1 < $cost;
			$cost = $next[$j - 1] + 1 if $next[$j - 1] + 1 < $cost;
			push @next, $cost;
		}
		@row = @next;
	}
	return $row[-1];
}

my $result;
for (1 .. $ARGV[0]) {
	$seed = 7;
	$result = join " ", table(900), jobs(500), distance("the quick brown fox jumps over" x 2, "pack my box with five dozen jugs" x 2);
}
print "$result\n";
