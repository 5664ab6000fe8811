-- Package compare shows a scenario's run before a decision beside its run after it, as a diff.
local client = require('tandem.client')
local say = require('tandem.say')
local scratch = require('tandem.scratch')
local M = {}

--- One run as text. What the two sides have in common stands at the same place in both.
---@param c tandem.Comparison
---@param side 'before'|'after'
---@return string[]
function M.side(c, side)
  local run = c[side]
  local out = { 'exit code ' .. run.exitCode, '', 'checks' }
  for _, check in ipairs(run.checks) do
    out[#out + 1] = ('  %s %s'):format(check.ok and '✓' or '✗', check.tripwire)
    out[#out + 1] = '      expected ' .. check.expected
    out[#out + 1] = '      observed ' .. check.observed
  end
  vim.list_extend(out, { '', 'values' })
  for _, change in ipairs(c.changes) do
    out[#out + 1] = ('  %s: %s'):format(change.what, change[side])
  end
  vim.list_extend(out, { '', 'outputs' })
  for _, output in ipairs(run.outputs) do
    out[#out + 1] = ('  %s  %d bytes  %s'):format(output.path, output.bytes, output.digest)
  end
  return vim.split(table.concat(out, '\n'), '\n')
end

--- Opens a tab with both runs.
function M.open()
  local link = client.current()
  local pause = link and link.state and link.state.session.pause
  local c = pause and pause.comparison
  if not c then return say.info('there is no before and after to compare') end
  vim.cmd('tab sbuffer ' .. scratch.buffer('before', M.side(c, 'before')))
  vim.cmd.diffthis()
  vim.cmd('rightbelow vertical sbuffer ' .. scratch.buffer('after', M.side(c, 'after')))
  vim.cmd.diffthis()
end

return M
