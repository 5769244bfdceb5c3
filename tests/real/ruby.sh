#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# ruby: objects, hashes, strings and regular expressions of a small ledger; a unit is a round.
. "$(dirname "$0")/lib.sh"
program=/usr/bin/ruby package=ruby3.1 begin=getsid:4 unit=round held_out=yes
prepare() {
	cat >ledger.rb <<'RUBY'
Entry = Struct.new(:who, :much, :text)
def entries(n, s)
  (0...n).map do |i|
    s = (s * 69069 + 12345) & 0xffffffff
    Entry.new("w#{(s >> 16) % 197}", (s >> 8) % 1000, "paid #{(s >> 20) % 90} for item #{i % 31}")
  end
end
def round(s)
  all = entries(3000, s)
  sums = all.group_by(&:who).map { |w, l| [w, l.sum(&:much), l.map(&:text).uniq.size] }.sort_by { |w, m, _| [-m, w] }
  found = all.select { |e| e.text =~ /paid (\d+) for item 1\d/ && $1.to_i > 20 }.map { |e| e.text.sub("item", "thing").upcase }
  sums.first(10).map { |x| x.join(",") }.join(";").size + found.join("\n").scan(/THING \d+/).size
end
total = 0
ARGV[0].to_i.times { |i| Process.getsid; total += round(i % 5) }
puts total
RUBY
}
endless() { exec $program --disable-gems ledger.rb 100000000; }
finite() { "$@" $program --disable-gems ledger.rb 10; }
drive "$@"
