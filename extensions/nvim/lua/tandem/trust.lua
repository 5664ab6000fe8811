-- Package trust knows the workspaces that the developer trusts. It fails closed: whatever is not a clear
-- yes is a no, and a no is kept for this Neovim alone.
local config = require('tandem.config')
local M = {}

local answers = {} ---@type table<string, boolean>

local function file() return vim.fs.joinpath(vim.fn.stdpath('state'), 'tandem-trusted') end

---@return string[]
local function stored()
  local ok, lines = pcall(vim.fn.readfile, file())
  return ok and lines or {}
end

---@param root string a real path
local function store(root)
  vim.fn.mkdir(vim.fn.stdpath('state') --[[@as string]], 'p')
  if vim.fn.writefile({ root }, file(), 'a') == 0 then vim.uv.fs_chmod(file(), 384) end -- 0600
end

---@param root string
---@return boolean
local function configured(root)
  for _, folder in ipairs(config.get().trust) do
    local real = vim.uv.fs_realpath(vim.fs.normalize(folder))
    if real and (root == real or vim.startswith(root, (real:gsub('/*$', '/')))) then return true end
  end
  return false
end

--- Says, without asking, whether a workspace is trusted.
---@param root string a real path
---@return boolean
function M.known(root) return configured(root) or answers[root] == true or vim.list_contains(stored(), root) end

--- Says whether a workspace is trusted, and asks once where that is not known.
---@param root string a real path
---@return boolean
function M.ask(root)
  if M.known(root) then return true end
  if answers[root] == nil then
    local words = 'Tandem: do you trust this workspace?\n%s\nThe agent runs commands in a workspace that you trust.'
    answers[root] = vim.fn.confirm(words:format(root), '&Trust it\n&Not now', 2, 'Question') == 1
    if answers[root] then store(root) end
  end
  return answers[root]
end

return M
