-- nvim -l tests/run.lua [FILE...]: runs the cases and ends with `N passed, N failed`. See scripts/test.sh.
local here = debug.getinfo(1, 'S').source:sub(2):match('^(.*)/') or '.'
dofile(here .. '/minimal_init.lua')
local MiniTest = require('mini.test')
MiniTest.setup({ silent = true })

local passed, failed = 0, 0
local function report(case)
  local state = case.exec and case.exec.state or ''
  if not state:find('^Pass') and not state:find('^Fail') then return end
  local ok = vim.startswith(state, 'Pass')
  passed, failed = passed + (ok and 1 or 0), failed + (ok and 0 or 1)
  io.stdout:write(('%s %s\n'):format(ok and 'ok  ' or 'FAIL', table.concat(case.desc, ' | ')))
  for _, fail in ipairs(case.exec.fails) do
    io.stdout:write('  ' .. fail:gsub('\n', '\n  ') .. '\n')
  end
  for _, note in ipairs(case.exec.notes) do
    io.stdout:write('  ' .. note .. '\n')
  end
end

local files = _G.arg and #_G.arg > 0 and _G.arg or vim.fn.sort(vim.fn.glob(here .. '/test_*.lua', true, true))
MiniTest.run({
  collect = { find_files = function() return files end },
  execute = {
    reporter = {
      start = function(cases) io.stdout:write(('%d cases on nvim %s\n'):format(#cases, tostring(vim.version()))) end,
      update = function(i) report(MiniTest.current.all_cases[i]) end,
      finish = function() end,
    },
  },
})
-- The cases run from the event loop.
if not vim.wait(300000, function() return not MiniTest.is_executing() end, 20) then
  io.stdout:write('FAIL the suite did not end in time\n')
  failed = failed + 1
end
io.stdout:write(('%d passed, %d failed\n'):format(passed, failed))
io.stdout:flush()
os.exit((failed > 0 or passed == 0) and 1 or 0)
