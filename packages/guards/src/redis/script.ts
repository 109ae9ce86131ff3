/**
 * Compares the claim with the guard's key, then runs the commands: Redis runs a script in one step. Unlike WATCH, it needs
 * no connection of its own, and a client that reconnects before the commit cannot leave the comparison out.
 *
 * KEYS: the guard's key. ARGV: the claim, `claim` or `commit`, then each command as its number of words and its words.
 */
export const guardScript = `
local found = redis.pcall('GET', KEYS[1])
if type(found) == 'table' then return {'other', found.err} end
if found and not string.match(found, '^' .. string.rep('%d', 20) .. ':' .. string.rep('%d', 20) .. '$') then
  return {'other', found}
end
if found and found > ARGV[1] then return {'stale', found} end
if ARGV[2] == 'claim' then
  if found ~= ARGV[1] then redis.call('SET', KEYS[1], ARGV[1]) end
elseif found ~= ARGV[1] then
  return {'other', found or 'it is missing'}
end
local replies = {'done', ARGV[1]}
local at = 3
while at <= #ARGV do
  local words = tonumber(ARGV[at])
  replies[#replies + 1] = redis.call(unpack(ARGV, at + 1, at + words))
  at = at + words + 1
end
return replies`;
