-- Used by the runner and by every Neovim that a test starts.
local root = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h:h')
vim.opt.rtp:prepend(root)
if vim.env.MINI_TEST then vim.opt.rtp:append(vim.env.MINI_TEST) end
vim.o.swapfile = false
vim.o.shadafile = 'NONE'
vim.o.termguicolors = true
vim.o.background = 'dark'
vim.cmd.colorscheme('default')
