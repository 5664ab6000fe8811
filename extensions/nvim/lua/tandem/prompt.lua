-- Package prompt is the box that a steer is typed in. It says what the steer is about and sends it; one that
-- was closed keeps its words for the next time.
local action = require('tandem.action')
local lines = require('tandem.lines')
local say = require('tandem.say')
local M = {}

local kept = '' -- words that were not sent

---@param receipt tandem.SteerResult
local function told(receipt)
  local parts, files = { 'steer received' }, {}
  if #receipt.cancelled > 0 then parts[#parts + 1] = 'cancelled ' .. #receipt.cancelled end
  for _, unseen in ipairs(receipt.unseen) do
    for _, uri in ipairs(unseen.files) do
      files[#files + 1] = vim.fs.basename(uri)
    end
  end
  if #files > 0 then parts[#parts + 1] = 'had already changed ' .. table.concat(files, ', ') end
  say.info(table.concat(parts, ' · '))
end

---@param link tandem.Link
---@param text string
---@param scope? tandem.Scope
---@param when? tandem.When
---@param seen? integer the last event that the developer had seen when they began to type
function M.steer(link, text, scope, when, seen)
  local params = {
    sessionId = link.state.session.id,
    text = text,
    scope = scope and next(scope) and scope or nil,
    when = when,
    seenSeq = seen or link.state.seq,
  }
  action.send(link, 'tandem/steer', params, told, function() kept = text end)
end

---@param link tandem.Link
---@param scope? tandem.Scope absent: the whole task
---@param title? string what is asked
function M.open(link, scope, title)
  local seen = link.state.seq
  local buf = vim.api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden, vim.bo[buf].filetype = 'wipe', 'tandem-steer'
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, vim.split(kept, '\n'))
  local width = math.max(30, math.min(76, vim.o.columns - 6))
  local about = (lines.about(link.state, scope) or 'about the whole task'):gsub('^about ', '')
  local win = vim.api.nvim_open_win(buf, true, {
    relative = 'editor',
    row = math.max(0, vim.o.lines - vim.o.cmdheight - 7),
    col = math.floor((vim.o.columns - width) / 2),
    width = width,
    height = 3,
    style = 'minimal',
    border = 'rounded',
    title = (' %s [%s] '):format(title and lines.clip(title, width - 12) or 'Steer…', lines.clip(about, 30)),
    footer = ' <CR> now · <M-CR> at the end of this step · <C-c> closes ',
    footer_pos = 'right',
  })
  vim.wo[win].wrap, vim.wo[win].linebreak = true, true

  local function close()
    vim.cmd.stopinsert()
    if vim.api.nvim_win_is_valid(win) then vim.api.nvim_win_close(win, true) end
  end
  local function words() return vim.trim(table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), '\n')) end
  local function leave()
    kept = words()
    close()
  end
  local function send(when)
    local text = words()
    if text == '' then return end
    kept = ''
    M.steer(link, text, scope, when, seen)
    close()
  end
  local function map(mode, key, what, f) vim.keymap.set(mode, key, f, { buffer = buf, nowait = true, desc = 'Tandem: ' .. what }) end
  map({ 'i', 'n' }, '<CR>', 'steer now', function() send() end)
  map({ 'i', 'n' }, '<M-CR>', 'steer at the end of this step', function() send('stepEnd') end)
  map('n', '<Esc>', 'close', leave)
  map({ 'i', 'n' }, '<C-c>', 'close', leave)
  map('i', '<C-j>', 'a new line', function() vim.api.nvim_paste('\n', false, -1) end)
  vim.cmd.startinsert({ bang = true })
end

return M
