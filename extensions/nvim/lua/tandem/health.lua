-- Package health is :checkhealth tandem.
local M = {}

function M.check()
  local health, config = vim.health, require('tandem.config').get()
  health.start('tandem')
  if vim.fn.has('nvim-0.10') == 1 then
    health.ok('Neovim ' .. tostring(vim.version()))
  else
    health.error('Neovim 0.10 or newer is needed')
  end
  local program = config.cmd[1]
  if vim.fn.executable(program) == 0 then
    return health.error(('`%s` is not on the PATH'):format(program), { 'Install it, or name it in vim.g.tandem = { cmd = { … } }' })
  end
  local function ask(...) return vim.system({ program, ... }, { text = true, env = config.env }):wait(10000) end
  local version = ask('version')
  if version.code ~= 0 then
    return health.error(('`%s version` ended with %d: %s'):format(program, version.code, vim.trim(version.stderr or '')))
  end
  health.ok(('%s at %s'):format(vim.trim(version.stdout), vim.fn.exepath(program)))
  local doctor = ask('doctor')
  local tell = doctor.code == 0 and health.ok or health.warn
  tell('tandem doctor says:\n' .. vim.trim(doctor.stdout .. doctor.stderr))
  local root = require('tandem.client').root(0)
  if require('tandem.trust').known(root) then
    health.ok('this workspace is trusted: ' .. root)
  else
    health.info(root .. ' is not trusted yet: the agent runs no command in it. :Tandem start asks')
  end
  health.info(#vim.lsp.get_clients({ name = 'tandem' }) .. ' connection(s) to a daemon')
end

return M
