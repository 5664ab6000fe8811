-- The recorded streams, drawn: what each shows stands beside it.
local MiniTest = require('mini.test')
local eq = MiniTest.expect.equality
local wire, lines = require('tandem.wire'), require('tandem.lines')
local folder = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h:h:h:h') .. '/testdata/wire'

--- Plays a stream. The time is that of its last message.
local function play(name)
  local state, at
  for _, text in ipairs(vim.fn.readfile(('%s/%s.jsonl'):format(folder, name))) do
    local one = vim.json.decode(text, { luanil = { object = true, array = true } })
    state, at = wire.fold(state, one.message, one.seen), lines.seconds(one.at)
  end
  return lines.lines(state, at or 0), state
end

---@param all tandem.Line[]
local function texts(all)
  return vim.tbl_map(function(line) return (lines.text(line)) end, all)
end

local T = MiniTest.new_set()

for _, file in ipairs(vim.fn.glob(folder .. '/*.txt', true, true)) do
  local name = vim.fn.fnamemodify(file, ':t:r')
  T[name .. ' is drawn as it stands beside it'] = function()
    local want, got = vim.fn.readfile(file), texts((play(name)))
    local differs = (vim.text and vim.text.diff or vim.diff)(
      table.concat(want, '\n') .. '\n',
      table.concat(got, '\n') .. '\n',
      { ctxlen = 1 }
    )
    if differs ~= '' then error(differs) end
  end
end

T['there are streams of every kind'] = function() eq(vim.tbl_count(T) > 8, true) end

T['a stream that is told twice, as after a reconnection, is drawn the same'] = function()
  for _, name in ipairs({ 'pair-done', 'question' }) do
    local once = texts((play(name)))
    local state, at
    for _ = 1, 2 do
      for _, text in ipairs(vim.fn.readfile(('%s/%s.jsonl'):format(folder, name))) do
        local one = vim.json.decode(text, { luanil = { object = true, array = true } })
        if one.message.method ~= 'tandem/text' then
          state, at = wire.fold(state, one.message), lines.seconds(one.at)
        end
      end
    end
    eq(texts(lines.lines(state, at)), once)
  end
end

T['Enter means the action under the cursor, else the primary one'] = function()
  for _, line in ipairs((play('decision'))) do
    if line.text:find('AuthSource — ', 1, true) then
      local text = lines.text(line)
      eq(lines.meant(line, 0).title, 'Keep')
      eq(lines.meant(line, text:find('[Take AuthPort]', 1, true) - 1).title, 'Take AuthPort')
      eq(lines.meant(line, #text - 1).title, 'Say otherwise…')
    elseif line.scope and line.scope.stepId then
      eq(lines.meant(line, 0), nil) -- it opens its file
    end
  end
  local card = vim.tbl_filter(function(line) return line.shown or line.text:find('^1 ') end, (play('paused-agent')))
  eq(lines.meant(card[1], 0).title, 'Take: Join on order_no')
  eq(lines.meant(card[2], 0).title, 'Resume')
  eq(lines.meant(card[2], 2).title, 'Say what shall change…')
end

T['times are read to the fraction of a second'] = function()
  eq(lines.seconds('1970-01-01T00:00:00Z'), 0)
  eq(lines.seconds('2026-11-30T05:00:36.5Z'), 1796014836.5)
  eq(lines.seconds('2000-02-29T23:59:59Z'), 951868799)
end

T['a text is clipped at characters'] = function()
  eq(lines.clip('grüße  aus\nBremen', 9), 'grüße au…')
  eq(lines.clip('grüße', 5), 'grüße')
end

return T
