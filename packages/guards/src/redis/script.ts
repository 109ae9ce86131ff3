/**
 * Compares the claim with the guard's key, then runs the commands: Redis runs a script in one step. Unlike WATCH, it needs
 * no connection of its own, and a client that reconnects before the commit cannot leave the comparison out.
 *
 * The key holds the claim, and behind it the ids of the transactions that have begun. A commit removes its id, so that it
 * is done once, also if the client sends it again after a lost answer, as ioredis does.
 *
 * KEYS: the guard's key. ARGV: the claim, `claim`, `drop` or `commit`, the id of the transaction, then each command as its
 * number of words and its words.
 */
export const guardScript = `
local found = redis.pcall('GET', KEYS[1])
if type(found) == 'table' then return {'other', found.err} end
local digits = string.rep('%d', 20)
if found and not string.match(found, '^' .. digits .. ':' .. digits .. '[:%x]*$') then return {'other', found} end
local claim = found and string.sub(found, 1, #ARGV[1])
if claim and claim > ARGV[1] then return {'stale', claim} end
local id = ':' .. ARGV[3]
local from, to = string.find(found or '', id, 1, true)
if ARGV[2] == 'claim' then
  if claim ~= ARGV[1] then found = ARGV[1] end
  if claim ~= ARGV[1] or not from then redis.call('SET', KEYS[1], found .. id) end
  return {'done', ARGV[1]}
end
if claim ~= ARGV[1] then return {'other', found or 'it is missing'} end
if not from then return {'again', claim} end
redis.call('SET', KEYS[1], string.sub(found, 1, from - 1) .. string.sub(found, to + 1))
local replies = {'done', ARGV[1]}
local at = 4
while at <= #ARGV do
  local words = tonumber(ARGV[at])
  replies[#replies + 1] = redis.call(unpack(ARGV, at + 1, at + words))
  at = at + words + 1
end
return replies`;
