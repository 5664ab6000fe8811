-- Package config holds what the developer has set. It reads no file and asks nobody.
local M = {}

---@class tandem.Config
---@field cmd? string[] how the language server is started
---@field env? table<string, string> what it finds in its environment besides Neovim's own
---@field model? string the model of sessions that are started here; absent: the configured one
---@field autonomy? tandem.Autonomy the level of sessions that are started here; absent: the configured one
---@field root_markers? string[] a workspace is the nearest folder above a file that holds one of them
---@field trust? string[] folders; the workspaces in them are trusted without a question
---@field autostart? boolean start in a trusted workspace when a file of it is opened
---@field panel? { position?: 'right'|'left', width?: integer }

---@type tandem.Config
local defaults = {
  cmd = { 'tandem', 'lsp' },
  root_markers = { '.tandem', '.git' },
  trust = {},
  autostart = true,
  panel = { position = 'right', width = 64 },
}

---@type tandem.Config?
local current

--- Lists are taken whole, tables are merged.
---@param options? tandem.Config
function M.set(options) current = vim.tbl_deep_extend('force', defaults, options or {}) end

--- `setup()` is optional: `vim.g.tandem` holds the same table.
---@return tandem.Config
function M.get()
  if not current then M.set(vim.g.tandem) end
  return current --[[@as tandem.Config]]
end

return M
