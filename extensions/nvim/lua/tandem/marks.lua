-- Package marks shows in the code where the agent changed something that was not looked at yet, and where it
-- decided something. A change that the cursor rests on has been looked at.
local client = require('tandem.client')
local M = {}

local changes = vim.api.nvim_create_namespace('tandem.changes')
local choices = vim.api.nvim_create_namespace('tandem.decisions')
local unseen = {} ---@type table<string, table<integer, true>> the changed lines of each file, from 0, as the agent left them

-- Two ways to write a URI, or to reach a file, are one file.
---@param bufnr integer
local function key_of(bufnr)
  local name = vim.api.nvim_buf_get_name(bufnr)
  return vim.uv.fs_realpath(name) or name
end

vim.api.nvim_set_hl(0, 'TandemChange', { link = 'DiagnosticSignInfo', default = true })
vim.api.nvim_set_hl(0, 'TandemDecision', { link = 'DiagnosticVirtualTextHint', default = true })

---@param uri string
---@return integer? a buffer that is loaded
local function loaded(uri)
  local bufnr = vim.fn.bufnr(vim.uri_to_fname(uri))
  if bufnr ~= -1 and vim.api.nvim_buf_is_loaded(bufnr) then return bufnr end
end

--- The changed lines after further hunks: those below a hunk move, those in it are its own.
---@param lines table<integer, true>
---@param hunks tandem.Hunk[]
---@return table<integer, true>
function M.rebase(lines, hunks)
  local after = {}
  for line in pairs(lines) do
    local shift, inside = 0, false
    for _, h in ipairs(hunks) do
      if line >= h.oldStart + h.oldLines then
        shift = shift + h.newLines - h.oldLines
      elseif line >= h.oldStart then
        inside = true
      end
    end
    if not inside then after[line + shift] = true end
  end
  for _, h in ipairs(hunks) do
    for line = h.newStart, h.newStart + h.newLines - 1 do
      after[line] = true
    end
  end
  return after
end

---@param bufnr integer
---@param lines table<integer, true>
local function sign(bufnr, lines)
  local last = vim.api.nvim_buf_line_count(bufnr) - 1
  for line in pairs(lines) do
    if line <= last then
      vim.api.nvim_buf_set_extmark(bufnr, changes, line, 0, { sign_text = '▎', sign_hl_group = 'TandemChange', invalidate = true })
    end
  end
end

--- Takes in what the agent changed. A buffer whose file changed on the disk alone is read again where it can be.
---@param files tandem.FileChange[]
---@param live boolean it happens now; what happened before is drawn when all of it is known
function M.files(files, live)
  for _, file in ipairs(files) do
    local name = vim.uri_to_fname(file.uri)
    unseen[name] = M.rebase(unseen[name] or {}, file.hunks)
    local bufnr = live and loaded(file.uri)
    if bufnr then
      local before = vim.b[bufnr].changedtick
      if not vim.bo[bufnr].modified then vim.cmd.checktime(bufnr) end
      -- A buffer that was read again has its marks by BufReadPost.
      if vim.b[bufnr].changedtick == before then sign(bufnr, M.rebase({}, file.hunks)) end
    end
  end
end

--- Says that the changes around the cursor were looked at.
---@param bufnr integer
function M.looked(bufnr)
  local at = vim.api.nvim_win_get_cursor(0)[1] - 1
  for _, step in ipairs({ 1, -1 }) do
    local line = step == 1 and at or at - 1
    while true do
      local marks = vim.api.nvim_buf_get_extmarks(bufnr, changes, { line, 0 }, { line, -1 }, {})
      if line < 0 or #marks == 0 then break end
      for _, mark in ipairs(marks) do
        vim.api.nvim_buf_del_extmark(bufnr, changes, mark[1])
      end
      local lines = unseen[key_of(bufnr)]
      if lines then lines[line] = nil end
      line = line + step
    end
  end
end

local placed = {} ---@type table<string, string> what a decision's mark shows, by its buffer, session and id

---@param state tandem.State
---@param d tandem.Decision
local function decision(state, d)
  local bufnr = d.location and loaded(d.location.uri)
  if not bufnr then return end
  local key = ('%d %s %s'):format(bufnr, state.session.id, d.id)
  if placed[key] == d.status then return end
  local first = not placed[key]
  placed[key] = d.status
  local id = tonumber(d.id:match('%d+')) or 1
  local old = vim.api.nvim_buf_get_extmark_by_id(bufnr, choices, id, {})
  local line = first and (d.location.range and d.location.range.start.line or 0) or old[1]
  if d.status == 'overridden' then vim.api.nvim_buf_del_extmark(bufnr, choices, id) end
  if d.status == 'overridden' or not line or line >= vim.api.nvim_buf_line_count(bufnr) then return end
  local text = d.status == 'open' and { { ' ◆ ' .. d.summary .. ' · :Tandem decide', 'TandemDecision' } } or nil
  vim.api.nvim_buf_set_extmark(bufnr, choices, line, 0, { id = id, virt_text = text, sign_text = '◆', sign_hl_group = 'TandemDecision' })
end

--- Draws the decisions of the session that is shown.
function M.refresh()
  local link = client.current()
  for _, d in ipairs(link and link.state and link.state.decisions or {}) do
    decision(link.state, d)
  end
end

--- Draws what is known of a file that was read, for the first time or again.
---@param bufnr integer
function M.read(bufnr)
  local lines = unseen[key_of(bufnr)]
  vim.api.nvim_buf_clear_namespace(bufnr, changes, 0, -1)
  if lines then sign(bufnr, lines) end
  for key in pairs(placed) do
    if vim.startswith(key, bufnr .. ' ') then placed[key] = nil end
  end
  M.refresh()
end

--- Draws what is known of every file that is open.
function M.all()
  for _, bufnr in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(bufnr) and vim.bo[bufnr].buftype == '' then M.read(bufnr) end
  end
end

local group = vim.api.nvim_create_augroup('tandem.marks', {})
vim.api.nvim_create_autocmd('User', { group = group, pattern = 'TandemChanged', callback = M.refresh })
vim.api.nvim_create_autocmd('BufReadPost', { group = group, callback = function(ev) M.read(ev.buf) end })
vim.api.nvim_create_autocmd('CursorHold', { group = group, callback = function(ev) M.looked(ev.buf) end })

return M
