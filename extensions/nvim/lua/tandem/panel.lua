-- Package panel draws lines.lua in a split and does what the line under the cursor offers. It never takes the
-- focus that was not given to it.
local action = require('tandem.action')
local client = require('tandem.client')
local config = require('tandem.config')
local lines = require('tandem.lines')
local say = require('tandem.say')
local M = {}

local ns = vim.api.nvim_create_namespace('tandem.panel')
local buf ---@type integer?
local shown = {} ---@type tandem.Line[]
local drawn = {} ---@type string[]
local timer ---@type uv.uv_timer_t?

for group, link in pairs({
  TandemHead = 'Title',
  TandemTask = 'Normal',
  TandemTitle = 'Special',
  TandemWarning = 'DiagnosticWarn',
  TandemQuiet = 'Comment',
  TandemDim = 'Comment',
  TandemAction = 'Function',
  TandemDone = 'DiagnosticOk',
  TandemActive = 'DiagnosticInfo',
  TandemFailed = 'DiagnosticError',
}) do
  vim.api.nvim_set_hl(0, group, { link = link, default = true })
end

local kinds = { head = 'TandemHead', task = 'TandemTask', title = 'TandemTitle', quiet = 'TandemQuiet' }
local marks = {
  ['✓'] = 'TandemDone',
  ['!'] = 'TandemWarning',
  ['▶'] = 'TandemActive',
  ['✗'] = 'TandemFailed',
  ['◆'] = 'TandemActive',
  ['–'] = 'TandemQuiet',
}

---@return integer? the panel's window in this tab
local function window()
  if not buf or not vim.api.nvim_buf_is_valid(buf) then return end
  for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    if vim.api.nvim_win_get_buf(win) == buf then return win end
  end
end

---@param row integer
---@param from integer
---@param to integer
---@param group string
local function paint(row, from, to, group) vim.api.nvim_buf_set_extmark(buf, ns, row, from, { end_col = to, hl_group = group }) end

---@param row integer
---@param line tandem.Line
---@param text string
local function colour(row, line, text)
  local words = line.indent + #line.text
  local group = line.dim and 'TandemDim' or kinds[line.kind]
  if group then paint(row, line.indent, words, group) end
  local mark = line.text:match('^[^%w%s]+')
  if mark and marks[mark] and not line.dim then paint(row, line.indent, line.indent + #mark, marks[mark]) end
  if line.note and not line.dim then paint(row, line.indent + line.note, words, 'TandemQuiet') end
  if words < #text then paint(row, words, #text, line.dim and 'TandemDim' or 'TandemAction') end
end

---@return number seconds since 1970
local function now()
  local seconds, micro = vim.uv.gettimeofday()
  return seconds + micro / 1e6
end

--- What keeps the cursor on its line when lines come and go above it.
---@param line? tandem.Line
local function same(line) return line and line.text:gsub(' — .*', '') end

local function draw()
  if not buf or not vim.api.nvim_buf_is_valid(buf) then return end
  local link, win = client.current(), window()
  local at = win and vim.api.nvim_win_get_cursor(win)
  local under = at and same(shown[at[1]])
  shown = lines.lines(link and link.state, now())
  if link and link.gone then table.insert(shown, 1, { indent = 0, text = '✗ ' .. link.gone, actions = {}, shown = false }) end
  local text = vim.tbl_map(function(line) return (lines.text(line)) end, shown)
  if vim.deep_equal(text, drawn) then return end
  drawn = text
  vim.bo[buf].modifiable = true
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, text)
  vim.bo[buf].modifiable = false
  vim.api.nvim_buf_clear_namespace(buf, ns, 0, -1)
  for i, line in ipairs(shown) do
    colour(i - 1, line, text[i])
  end
  if not at or under == same(shown[at[1]]) then return end
  for i, line in ipairs(shown) do
    if under ~= '' and same(line) == under then return vim.api.nvim_win_set_cursor(win, { i, at[2] }) end
  end
end

local due = false
--- Draws soon, once for all that comes until then.
function M.refresh()
  if due or not buf then return end
  due = true
  vim.schedule(function()
    due = false
    draw()
  end)
end

---@return tandem.Line?
local function under() return shown[vim.api.nvim_win_get_cursor(0)[1]] end

---@param line tandem.Line
local function jump(line)
  if not line.place then return say.info('this line opens nothing') end
  local panel = vim.api.nvim_get_current_win()
  vim.cmd.wincmd('p')
  local back = vim.api.nvim_get_current_win()
  if back == panel or vim.bo[vim.api.nvim_win_get_buf(back)].buftype ~= '' then vim.cmd('leftabove vsplit') end
  vim.cmd.edit(vim.fn.fnameescape(vim.uri_to_fname(line.place.uri)))
  if line.place.range then
    local last = vim.api.nvim_buf_line_count(0)
    vim.api.nvim_win_set_cursor(0, { math.min(line.place.range.start.line + 1, last), 0 })
  end
end

local function primary()
  local line, link = under(), client.current()
  if not line or not link then return end
  local meant = lines.meant(line, vim.api.nvim_win_get_cursor(0)[2])
  if meant then return action.run(link, meant) end
  if line.place then return jump(line) end
  if #line.actions > 0 then action.choose(link, line.actions, line.text) end
end

--- All that can be done: on this line, and with the session.
local function all()
  local line, link = under(), client.current()
  if not line or not link or not link.state then return end
  local actions = vim.list_extend({}, line.actions)
  if actions[1] ~= (link.state.session.actions or {})[1] then vim.list_extend(actions, link.state.session.actions or {}) end
  action.choose(link, actions, vim.trim(line.text) ~= '' and line.text or 'Tandem')
end

local function steer()
  local line, link = under(), client.current()
  if link and link.state then require('tandem.prompt').open(link, line and line.scope) end
end

local keys = {
  { '<CR>', 'the action under the cursor, else the primary one of this line, else what it opens', primary },
  { 'a', 'all actions of this line and of the session', all },
  { 's', 'steer, about this line', steer },
  { 'o', 'open the place of this line', function() jump(under()) end },
  { 'd', 'before and after, side by side', function() require('tandem.compare').open() end },
  { 'p', 'pause', '<Cmd>Tandem pause<CR>' },
  { 'r', 'resume', '<Cmd>Tandem resume<CR>' },
  { 'g?', 'help', '<Cmd>help tandem-panel<CR>' },
  { 'q', 'close', '<Cmd>close<CR>' },
}

---@return integer
local function buffer()
  if buf and vim.api.nvim_buf_is_valid(buf) then return buf end
  buf = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(buf, 'tandem://panel')
  for event, on in pairs({ WinEnter = true, WinLeave = false }) do
    vim.api.nvim_create_autocmd(event, { buffer = buf, callback = function() vim.wo.cursorline = on end })
  end
  vim.bo[buf].filetype, vim.bo[buf].bufhidden, vim.bo[buf].modifiable = 'tandem', 'hide', false
  for _, key in ipairs(keys) do
    vim.keymap.set('n', key[1], key[3], { buffer = buf, nowait = true, desc = 'Tandem: ' .. key[2] })
  end
  return buf
end

--- Shows the panel and leaves the cursor where it is, or goes to it where it is shown.
---@param focus? boolean
function M.open(focus)
  local win = window()
  if not win then
    local o = config.get().panel
    win = vim.api.nvim_open_win(buffer(), false, { split = o.position, win = -1, width = math.min(o.width, math.floor(vim.o.columns / 2)) })
    local w = vim.wo[win]
    w.number, w.relativenumber, w.signcolumn, w.foldcolumn, w.list, w.spell = false, false, 'no', '0', false, false
    w.wrap, w.linebreak, w.breakindent, w.breakindentopt, w.fillchars = true, true, true, 'shift:2', 'eob: '
    w.winfixwidth, w.winfixbuf = true, true
  end
  if focus then vim.api.nvim_set_current_win(win) end
  if not timer then
    timer = assert(vim.uv.new_timer())
    timer:start(
      1000,
      1000,
      vim.schedule_wrap(function()
        if window() then draw() end
      end)
    )
  end
  draw()
end

vim.api.nvim_create_autocmd('User', {
  group = vim.api.nvim_create_augroup('tandem.panel', {}),
  pattern = 'TandemChanged',
  callback = function()
    M.refresh()
    vim.cmd.redrawstatus({ bang = true })
  end,
})

return M
