-- Package edit makes the agent's edits of files that are open here. It knows no session.
local M = {}

---@param bufnr integer
local function close_undo(bufnr)
  if vim.api.nvim_get_mode().mode:find('^[iR]') then return end -- what is being typed stays one block
  vim.api.nvim_buf_call(bufnr, function() vim.cmd('let &undolevels = &undolevels') end)
end

---@param edit lsp.WorkspaceEdit
---@return integer[] loaded buffers
---@return string? why the edit does not fit
local function affected(edit)
  local buffers, stale = {}, nil
  for _, change in ipairs(edit.documentChanges or {}) do
    local doc = change.textDocument
    local bufnr = doc and vim.uri_to_bufnr(doc.uri)
    if bufnr and vim.api.nvim_buf_is_loaded(bufnr) then
      buffers[#buffers + 1] = bufnr
      local version = doc.version ~= vim.NIL and doc.version
      if version and version ~= vim.lsp.util.buf_versions[bufnr] then
        stale = 'the text of ' .. vim.fs.basename(doc.uri) .. ' has changed meanwhile'
      elseif not vim.bo[bufnr].modifiable then
        stale = vim.fs.basename(doc.uri) .. ' cannot be changed in this editor'
      end
    end
  end
  return buffers, stale
end

--- Says whether a buffer's text is the file's.
---@param bufnr integer
local function on_disk(bufnr)
  local b = vim.bo[bufnr]
  local file = not b.modified and io.open(vim.api.nvim_buf_get_name(bufnr), 'rb')
  if not file then return false end
  local ends = b.fileformat == 'dos' and '\r\n' or '\n'
  local text = table.concat(vim.api.nvim_buf_get_lines(bufnr, 0, -1, false), ends) .. (b.endofline and ends or '')
  local same = file:read('*a') == text
  file:close()
  return same
end

--- Saves without what would change the text on the way; those who follow the file learn of it.
---@param bufnr integer
local function save(bufnr)
  vim.api.nvim_buf_call(bufnr, function() vim.cmd('silent noautocmd write!') end)
  vim.api.nvim_exec_autocmds('BufWritePost', { buffer = bufnr, modeline = false })
end

--- Applies the agent's edit as one block of undo. Neovim's own handler passes over an edit of an older text and
--- answers that it was applied; here the answer is that it was not. What was saved before stays saved: commands
--- of the agent read the file.
function M.apply(err, params, ctx)
  local buffers, stale = affected(params.edit)
  if stale then return { applied = false, failureReason = stale } end
  local saved = vim.tbl_filter(on_disk, buffers)
  vim.tbl_map(close_undo, buffers)
  local result = vim.lsp.handlers['workspace/applyEdit'](err, { edit = params.edit }, ctx) -- without its label, which would be shown
  vim.tbl_map(close_undo, buffers)
  if result.applied then vim.tbl_map(save, saved) end
  return result
end

return M
