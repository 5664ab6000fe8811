-- What Neovim loads at its start: one command, the <Plug> maps and one autocommand. Nothing is required
-- before it is used.
if vim.g.loaded_tandem then return end
vim.g.loaded_tandem = true

if vim.fn.has('nvim-0.10') == 0 then
  vim.notify('tandem needs Neovim 0.10 or newer', vim.log.levels.ERROR)
  return
end

vim.api.nvim_create_user_command('Tandem', function(args) require('tandem.command').run(args) end, {
  nargs = '*',
  range = true,
  desc = 'Pair programming with a coding agent',
  complete = function(lead, line) return require('tandem.command').complete(lead, line) end,
})

for name, what in pairs({
  steer = 'Steer…',
  plan = 'Show Plan',
  pause = 'Pause',
  resume = 'Resume',
  checkin = 'Check In',
  decide = 'Decide…',
}) do
  local plug = '<Plug>(tandem-' .. name .. ')'
  vim.keymap.set('n', plug, '<Cmd>Tandem ' .. name .. '<CR>', { desc = 'Tandem: ' .. what })
end
vim.keymap.set('x', '<Plug>(tandem-steer)', ':Tandem steer<CR>', { silent = true, desc = 'Tandem: Steer… about the selection' })

vim.api.nvim_create_autocmd({ 'FileType', 'BufReadPost', 'BufNewFile' }, {
  group = vim.api.nvim_create_augroup('tandem', {}),
  callback = function(ev)
    if vim.bo[ev.buf].buftype == '' and vim.api.nvim_buf_get_name(ev.buf) ~= '' then require('tandem.client').opened(ev.buf) end
  end,
})
