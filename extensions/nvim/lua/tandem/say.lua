-- Package say tells the developer something in the message area. A notification is for their turn alone;
-- the answers to what they did are messages.
local M = {}

--- It never takes more than the message area has, so that nobody has to press a key.
---@param text string
function M.info(text)
  local room = math.max(20, vim.v.echospace - 8)
  vim.api.nvim_echo({ { 'tandem: ' .. require('tandem.lines').clip(text, room) } }, true, {})
end

---@param text string
function M.fault(text) vim.api.nvim_echo({ { 'tandem: ' .. text, 'ErrorMsg' } }, true, {}) end

---@param text string
function M.turn(text) vim.notify('tandem: ' .. text, vim.log.levels.INFO, { title = 'Tandem' }) end

return M
