-- Package seen remembers, from one Neovim to the next, the last event of each session that the developer saw. The
-- file may be lost: then nothing is told of the time away.
local M = {}

local function file() return vim.fs.joinpath(vim.fn.stdpath('state'), 'tandem-seen.json') end

---@return table<string, integer>
local function read()
  local ok, all = pcall(function() return vim.json.decode(table.concat(vim.fn.readfile(file()), '\n')) end)
  return ok and type(all) == 'table' and all or {}
end

---@param id string
---@return integer?
function M.of(id) return read()[id] end

--- A session that is done is waited for no more.
---@param states table<any, tandem.State>
function M.keep(states)
  local all = read()
  for _, state in pairs(states) do
    all[state.session.id] = state.session.mode ~= 'done' and state.seq or nil
  end
  vim.fn.mkdir(vim.fn.stdpath('state') --[[@as string]], 'p')
  pcall(vim.fn.writefile, { vim.json.encode(vim.tbl_isempty(all) and vim.empty_dict() or all) }, file())
end

return M
