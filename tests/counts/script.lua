-- SPDX-License-Identifier: GPL-2.0-or-later
-- What lua5.4 runs for scripts/accuracy-counts: the same work every round, in pure Lua, on some megabytes of objects.
--   script.lua ROUNDS
local seed = 42
local function random(n)
	seed = (seed * 1103515245 + 12345) & 0x7fffffff
	return (seed >> 8) % n
end

local function tree_of(depth)
	if depth == 0 then return { key = random(1000) } end
	return { key = random(1000), left = tree_of(depth - 1), right = tree_of(depth - 1) }
end

local function sum_of(node)
	return node.key + (node.left and sum_of(node.left) + sum_of(node.right) or 0)
end

local function words(n)
	local count, text = {}, {}
	for i = 1, n do
		local w = string.char(97 + random(26), 97 + random(5)) .. random(40)
		count[w] = (count[w] or 0) + 1
		text[#text + 1] = w
	end
	local keys = {}
	for w in pairs(count) do keys[#keys + 1] = w end
	table.sort(keys, function(a, b) return count[a] > count[b] or count[a] == count[b] and a < b end)
	return table.concat(text, " "):find(keys[1] .. " " .. keys[2], 1, true) or 0
end

local function product(n)
	local a, b, sum = {}, {}, 0.0
	for i = 1, n do
		a[i], b[i] = {}, {}
		for j = 1, n do a[i][j], b[i][j] = i + j * 0.5, i - j * 0.25 end
	end
	for i = 1, n do
		local row = a[i]
		for j = 1, n do
			local s = 0.0
			for k = 1, n do s = s + row[k] * b[k][j] end
			sum = sum + s
		end
	end
	return sum
end

-- accounts in a table of their own, with methods found through a metatable
local Account = {}
Account.__index = Account
function Account:pay(to, much)
	if self.held < much then return false end
	self.held, to.held, to.times = self.held - much, to.held + much, to.times + 1
	return true
end

local accounts = {}
for i = 1, 4000 do accounts[i] = setmetatable({ held = 1000, times = 0, name = "account " .. i }, Account) end

local function trade(n)
	local done = 0
	for _ = 1, n do
		if accounts[1 + random(4000)]:pay(accounts[1 + random(4000)], random(100)) then done = done + 1 end
	end
	return done
end

local result
for _ = 1, tonumber(arg[1]) do
	seed = 42
	result = string.format("%d %d %.1f %d", sum_of(tree_of(10)), words(3000), product(24), trade(6000))
end
print(result)
