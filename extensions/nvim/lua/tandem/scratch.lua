-- Package scratch shows text that was asked for, in a read-only buffer that goes with its window.
local M = {}

---@param name string
---@param text string[]
---@return integer
function M.buffer(name, text)
  local buf = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, text)
  vim.bo[buf].bufhidden, vim.bo[buf].modifiable = 'wipe', false
  pcall(vim.api.nvim_buf_set_name, buf, ('tandem://%s/%d'):format(name, buf))
  vim.keymap.set('n', 'q', '<Cmd>close<CR>', { buffer = buf, nowait = true, desc = 'Tandem: close' })
  return buf
end

--- Shows text in a split and leaves the cursor where it is.
---@param name string
---@param text string[]
function M.show(name, text) vim.api.nvim_open_win(M.buffer(name, text), false, { split = 'below', height = math.min(#text, 15) }) end

return M
