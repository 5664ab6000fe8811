-- Package tandem is what a configuration uses: setup, which may be left out, and the statusline.
local M = {}

---@param options? tandem.Config
function M.setup(options) require('tandem.config').set(options) end

--- The mode and the current intent of the session that is shown; empty where there is none. For 'statusline'
--- or a plugin that draws one: %{v:lua.require'tandem'.statusline()}
---@return string
function M.statusline()
  local client = package.loaded['tandem.client']
  local link = client and client.current()
  return link and link.state and require('tandem.lines').brief(link.state) or ''
end

return M
