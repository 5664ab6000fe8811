-- What the tests in a real Neovim stand on: a story that plays the model, a workspace of its own, editors, and
-- the daemon that they share. Everything is ended by the process that it is.
local MiniTest = require('mini.test')
local M = {}

local root = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h:h')
local patience = 20000

--- Waits until something is true, and says with the editor's screen what was not.
---@param what string
---@param f fun(): any
---@return any
function M.wait(what, f)
  local value
  local ok = vim.wait(patience, function()
    value = f()
    return value
  end, 5)
  if not ok then error('this never happened: ' .. what .. (M.describe and '\n' .. M.describe() or ''), 2) end
  return value
end

---@return integer[] the processes whose arguments end with these
local function processes(...)
  local want, found = { ... }, {}
  for pid in vim.fs.dir('/proc') do
    local file = pid:match('^%d+$') and io.open('/proc/' .. pid .. '/cmdline', 'rb')
    if file then
      local args = vim.split(file:read('*a'), '\0', { trimempty = true })
      file:close()
      if #args > #want and vim.deep_equal(vim.list_slice(args, #args - #want + 1), want) then found[#found + 1] = tonumber(pid) end
    end
  end
  return found
end

--- A process whose parent has not asked for its end yet is gone as well.
---@param pid integer
local function alive(pid)
  local ok, stat = pcall(vim.fn.readfile, '/proc/' .. pid .. '/stat')
  return ok and stat[1] ~= nil and not stat[1]:find('%) Z ')
end

---@param pid integer
function M.kill(pid)
  vim.uv.kill(pid, 'sigkill')
  M.wait('process ' .. pid .. ' is gone', function() return not alive(pid) end)
end

---@param parent integer
---@return integer[] the processes that it started
function M.children(parent)
  local found = {}
  for pid in vim.fs.dir('/proc') do
    local ok, stat = pcall(vim.fn.readfile, pid:match('^%d+$') and ('/proc/%s/stat'):format(pid) or '')
    if ok and tonumber(stat[1]:match('%) %S (%d+)')) == parent then found[#found + 1] = tonumber(pid) end
  end
  return found
end

---@class tandem.test.Model
local Model = {}
Model.__index = Model

---@param story string
---@param dir string where its workspace goes
local function model(story, dir)
  local self = setmetatable({ out = '' }, Model)
  local file = ('%s/tests/stories/%s.txtar'):format(root, story)
  self.process = vim.system({ 'rehearse', '-unpack', dir, file }, {
    stdin = true,
    stdout = function(_, data) self.out = self.out .. (data or '') end,
  })
  self.url = self:line()
  return self
end

---@return string the next line that it says
function Model:line()
  M.wait('the model server answers', function() return self.out:find('\n') end)
  local line, rest = self.out:match('^(.-)\n(.*)$')
  self.out = rest
  return line
end

---@return { at: number, beat: string, status: integer, left: boolean }[]
function Model:requests()
  self.process:write('requests\n')
  return vim.json.decode(self:line())
end

---@param n integer counted from 1
---@return string
function Model:body(n)
  self.process:write(('body %d\n'):format(n - 1))
  return self:line()
end

---@class tandem.test.Stage
---@field dir string
---@field model tandem.test.Model
---@field editors table[]
local Stage = {}
Stage.__index = Stage

--- Opens a story; it is closed at the end of the case.
---@param story string
function M.open(story)
  local dir = vim.fn.tempname()
  vim.fn.mkdir(dir .. '/.git', 'p')
  local self = setmetatable({ dir = vim.uv.fs_realpath(dir), editors = {} }, Stage)
  MiniTest.finally(function() self:close() end)
  self.model = model(story, self.dir)
  M.describe = function() return self:describe() end
  return self
end

function Stage:describe()
  local shown = vim.tbl_map(function(e)
    local ok, text = pcall(function() return e.panel_text() .. '\n' .. e.cmd_capture('messages') end)
    return ok and text or 'this editor has ended'
  end, self.editors)
  return table.concat(shown, '\n----\n')
end

--- The daemon of the workspace.
---@return integer? pid
function Stage:daemon() return processes('serve', '--workspace', self.dir)[1] end

function Stage:close()
  M.describe = nil
  for _, editor in ipairs(self.editors) do
    pcall(editor.stop)
  end
  local pid = self:daemon()
  if pid then M.kill(pid) end
  self.model.process:write(nil)
  self.model.process:wait(patience)
  vim.fn.delete(self.dir, 'rf')
end

--- Starts a Neovim on a file of the workspace.
---@param options? tandem.Config
function Stage:editor(file, options)
  local child = MiniTest.new_child_neovim()
  child.start({ '-u', root .. '/tests/minimal_init.lua', '-i', 'NONE', '-n' })
  self.editors[#self.editors + 1] = child
  child.o.lines, child.o.columns = 40, 150
  -- At this level a decision waits for as long as the test takes.
  local defaults = { trust = { self.dir }, autostart = false, autonomy = 'close' }
  defaults.env = { OPENAI_BASE_URL = self.model.url, OPENAI_API_KEY = 'none', TANDEM_MODEL = 'rehearsal' }
  child.lua('vim.g.tandem = ...', { vim.tbl_extend('force', defaults, options or {}) })
  child.lua([[notes = {}; vim.notify = function(text) table.insert(notes, text) end
    faults = {}; vim.deprecate = function(name) table.insert(faults, name) end]])
  child.cmd('cd ' .. self.dir)
  child.cmd('edit ' .. (file or 'greet.lua'))

  --- The panel's lines.
  function child.panel()
    local buf = child.fn.bufnr('tandem://panel')
    return buf == -1 and {} or child.api.nvim_buf_get_lines(buf, 0, -1, false)
  end
  function child.panel_text() return table.concat(child.panel(), '\n') end
  --- Waits until the panel says something.
  function child.shows(text)
    M.wait('the panel shows ' .. text, function() return child.panel_text():find(text, 1, true) end)
  end
  --- Moves the cursor to the panel's line with a text.
  function child.go(text)
    child.cmd('Tandem plan')
    for i, line in ipairs(child.panel()) do
      if line:find(text, 1, true) then return child.api.nvim_win_set_cursor(0, { i, 0 }) end
    end
    error(text .. ' is not in the panel:\n' .. child.panel_text())
  end
  --- Steers with the prompt.
  function child.steer(text, key)
    child.cmd('Tandem steer')
    child.type_keys(text, key or '<CR>')
  end
  return child
end

return M
