-- Package client holds the connection to the daemon of each workspace: it starts `tandem lsp`, sends, folds
-- what comes, and starts it once more when it dies. What is drawn is others' business: they are told by
-- the autocommand User TandemChanged.
local config = require('tandem.config')
local edit = require('tandem.edit')
local say = require('tandem.say')
local seen = require('tandem.seen')
local trust = require('tandem.trust')
local wire = require('tandem.wire')

local M = { name = 'tandem' }

---@class tandem.Link the connection of one workspace
---@field root string a real path
---@field id? integer the client of vim.lsp
---@field ready boolean it has answered initialize
---@field queue fun()[] what waits for that
---@field pending table<fun(err?: table, result: any), true> Neovim calls back neither for what was cancelled nor for what died
---@field state? tandem.State of the session that is shown here
---@field restarted? integer when it was made again after it died, in milliseconds of vim.uv.now()
---@field gone? string why there is no connection
---@field behind? boolean what was before is still being told
---@field fresh? boolean all of it, not what was missed
---@field heard? integer when something was told last, in milliseconds of vim.uv.now()
---@field told? boolean that it is the developer's turn was told

local links = {} ---@type table<string, tandem.Link>
local current ---@type tandem.Link?

-- A daemon that dies so soon after it was started again would die for ever, in milliseconds.
local soon = 10000

-- The methods of a client took a dot before 0.11, and will take nothing but a colon from 0.13 on.
local colon = vim.fn.has('nvim-0.11') == 1
---@param client vim.lsp.Client
---@param method 'request'|'request_sync'|'stop'
local function call(client, method, ...)
  if colon then return client[method](client, ...) end
  return client[method](...)
end

--- A null field is vim.NIL on some versions, which is true; here it is absent.
local function plain(value)
  if value == vim.NIL then return nil end
  if type(value) ~= 'table' then return value end
  for k, v in pairs(value) do
    value[k] = plain(v)
  end
  return value
end

local function changed(link)
  vim.api.nvim_exec_autocmds('User', { pattern = 'TandemChanged', modeline = false, data = { root = link.root } })
end

---@param link tandem.Link
local function lsp(link) return link.id and vim.lsp.get_client_by_id(link.id) end

--- The workspace that a buffer belongs to.
---@param bufnr integer
---@return string a real path
function M.root(bufnr)
  local file = vim.bo[bufnr].buftype == '' and vim.api.nvim_buf_get_name(bufnr) or ''
  local cwd = vim.uv.cwd() --[[@as string]]
  local from = vim.startswith(file, '/') and vim.fs.dirname(file) or cwd
  local root = vim.fs.root(from, config.get().root_markers) or (vim.startswith(from, cwd) and cwd or from)
  return vim.uv.fs_realpath(root) or root
end

---@param link tandem.Link
---@param bufnr integer
local function follow_buffer(link, bufnr)
  local name, client = vim.api.nvim_buf_get_name(bufnr), lsp(link)
  if not client or not client.initialized or vim.bo[bufnr].buftype ~= '' then return end
  if vim.startswith(vim.uv.fs_realpath(name) or name, link.root .. '/') then vim.lsp.buf_attach_client(bufnr, link.id) end
end

--- The link that the developer looks at: of several, that of the current buffer's workspace, else the last one.
---@return tandem.Link?
function M.current()
  local several = next(links, next(links))
  if several and vim.bo.buftype == '' then current = links[M.root(0)] or current end
  return current
end

-- Not every event is told of, so the last one that an answer knew may never come: after so many milliseconds of
-- silence all was told.
local silence = 200

--- Draws and notifies, once all that was before has been told.
---@param link tandem.Link
---@param silent boolean
local function caught_up(link, silent)
  if link.behind and not silent and not wire.complete(link.state) then return end
  if link.behind and link.fresh then require('tandem.marks').all() end
  link.behind = false
  if link.state.session.initiative ~= 'developer' then
    link.told = false
  elseif not link.told then
    link.told = true
    say.turn(require('tandem.lines').turn(link.state))
  end
  changed(link)
end

---@param link tandem.Link
local function await_silence(link)
  vim.defer_fn(function()
    if not link.behind then return end
    if vim.uv.now() - link.heard < silence then return await_silence(link) end
    caught_up(link, true)
  end, silence)
end

---@param link tandem.Link
---@param method string
---@param params table
local function notified(link, method, params)
  params = plain(params)
  if not link.state or params.sessionId ~= link.state.session.id then return end
  link.state = wire.fold(link.state, { method = method, params = params })
  link.heard = vim.uv.now()
  if method == 'tandem/filesChanged' then require('tandem.marks').files(params.files, not (link.behind and link.fresh)) end
  caught_up(link, false)
end

---@param link tandem.Link
local function handlers(link)
  local all = { ['workspace/applyEdit'] = edit.apply }
  for method in pairs(wire.notifications) do
    all[method] = function(_, params)
      notified(link, method, params)
      return vim.NIL
    end
  end
  return all
end

local start

--- A connection that ended: what it owed is settled. One that died is made again once.
---@param link tandem.Link
---@param died boolean nobody had told it to end
local function ended(link, died)
  if vim.v.exiting ~= vim.NIL then return end
  local left = link.pending
  link.id, link.ready, link.pending, link.queue = nil, false, {}, {}
  for _, settle in ipairs(vim.tbl_keys(left)) do
    settle({ code = -1, message = 'the daemon has ended before it answered; look at the panel before you do it again' })
  end
  if not died then
    link.gone = 'the connection was ended; :Tandem attach makes it again'
    return changed(link)
  end
  if link.restarted and vim.uv.now() - link.restarted < soon then
    link.gone = 'the daemon ended twice; see :checkhealth tandem, then :Tandem attach'
    say.fault(link.gone)
    return changed(link)
  end
  link.gone, link.restarted = 'the daemon has ended; starting it again …', vim.uv.now()
  changed(link)
  local state = link.state
  start(link)
  if not state then return end
  M.attach(link, state.session.id, state.seq, function() say.info('the daemon had ended; this session goes on where it was') end)
end

--- A connection that has answered: what is open here is told first, so that the agent reads it.
---@param link tandem.Link
local function begun(link)
  for _, bufnr in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(bufnr) then follow_buffer(link, bufnr) end
  end
  link.ready, link.gone = true, nil
  for _, send in ipairs(link.queue) do
    send()
  end
  link.queue = {}
end

--- Starts the process. Neovim would notify of an end that the panel tells of, so it hears of none that went wrong.
---@param link tandem.Link
local function connect(link, dispatchers)
  local told, on_exit = false, dispatchers.on_exit -- an end that was asked for is no death, whatever the exit code
  dispatchers.on_exit = function()
    on_exit(0, 0)
    vim.schedule(function() ended(link, not told) end)
  end
  local rpc = vim.lsp.rpc.start(config.get().cmd, dispatchers, { env = config.get().env })
  local notify, terminate = rpc.notify, rpc.terminate
  rpc.notify = function(method, params)
    told = told or method == 'exit'
    return notify(method, params)
  end
  rpc.terminate = function()
    told = true
    terminate()
  end
  return rpc
end

---@param link tandem.Link
start = function(link)
  local c = config.get()
  link.ready, link.queue, link.pending = false, {}, {}
  local capabilities = vim.lsp.protocol.make_client_capabilities()
  capabilities.workspace.workspaceEdit.documentChanges = true -- Neovim takes them, and does not say so
  local client = {
    name = M.name,
    capabilities = capabilities,
    cmd = function(dispatchers) return connect(link, dispatchers) end,
    root_dir = link.root,
    workspace_folders = { { uri = vim.uri_from_fname(link.root), name = vim.fs.basename(link.root) } },
    init_options = { tandem = { trusted = trust.known(link.root), client = 'nvim' } },
    handlers = handlers(link),
    flags = { debounce_text_changes = 0 }, -- an edit of the agent is done when the next didChange shows it
    on_init = function()
      vim.schedule(function() begun(link) end)
    end,
  }
  require('tandem.panel')
  require('tandem.marks')
  vim.lsp.commands['tandem.ask'] = function(command) require('tandem.action').run(M.current(), command.arguments[1]) end
  link.id = colon and vim.lsp.start(client, { attach = false }) or vim.lsp.start_client(client)
  if not link.id then
    link.gone = ('cannot start `%s`; see :checkhealth tandem'):format(table.concat(c.cmd, ' '))
    return say.fault(link.gone)
  end
end

--- The connection of a workspace, started where it is not. It asks whether the workspace is trusted.
---@param root string
---@return tandem.Link?
function M.open(root)
  local link = links[root]
  if not link then link = { root = root, ready = false, queue = {}, pending = {} } end
  if not link.id then
    local program = config.get().cmd[1]
    if vim.fn.executable(program) == 0 then
      say.fault(('`%s` is not on the PATH: install it, or name it in vim.g.tandem.cmd; see :checkhealth tandem'):format(program))
      return
    end
    trust.ask(root)
    start(link)
  end
  links[root], current = link, link
  return link.id and link or nil
end

--- Sends a request. The callback is called once, whatever happens.
---@param link tandem.Link
---@param method string
---@param params table
---@param callback? fun(result: any, err?: table) without one an error is said
function M.request(link, method, params, callback)
  local owed = link.pending
  local settle ---@type fun(err?: table, result: any)
  settle = function(err, result)
    if not owed[settle] then return end
    owed[settle] = nil
    if callback then return callback(plain(result), err) end
    if err then say.fault(err.message) end
  end
  owed[settle] = true
  local function send()
    local client = lsp(link)
    local sent = client and call(client, 'request', method, next(params) and params or vim.empty_dict(), settle)
    if not sent then settle({ code = -1, message = link.gone or 'the daemon is not running; :Tandem attach starts it' }) end
  end
  if link.id and not link.ready then
    link.queue[#link.queue + 1] = send
  else
    send()
  end
end

--- Shows a session here and follows it. The answer of a start has attached the client already.
---@param link tandem.Link
---@param session tandem.Session
---@param last? integer the last event that the developer saw
function M.show(link, session, last)
  local same = link.state and link.state.session.id == session.id
  link.state = wire.fold(same and link.state or nil, { result = { session = session } }, last)
  link.told, link.fresh, link.behind, link.heard = link.told and same, not same, true, vim.uv.now()
  await_silence(link)
  changed(link)
end

---@param link tandem.Link
---@param id string
---@param since integer
---@param done? fun()
function M.attach(link, id, since, done)
  local leaves = link.state and link.state.session.id ~= id and link.state.session.id
  if leaves then M.request(link, 'tandem/session/detach', { sessionId = leaves }, function() end) end
  M.request(link, 'tandem/session/attach', { sessionId = id, since = since }, function(result, err)
    if err then return say.fault(err.message) end
    M.show(link, result.session, since > 0 and since or seen.of(id))
    if done then done() end
  end)
end

--- The sessions of the workspace, newest first.
---@param link tandem.Link
---@param callback fun(sessions: tandem.Session[])
function M.sessions(link, callback)
  M.request(link, 'tandem/session/list', { workspace = vim.uri_from_fname(link.root) }, function(result, err)
    if err then return say.fault(err.message) end
    callback(result.sessions)
  end)
end

---@param link tandem.Link
---@param ms integer how long completion may wait
---@return tandem.Session[]
function M.sessions_now(link, ms)
  local client = lsp(link)
  local answer = client and call(client, 'request_sync', 'tandem/session/list', { workspace = vim.uri_from_fname(link.root) }, ms)
  return answer and answer.result and answer.result.sessions or {}
end

--- A file was opened. In a workspace that is trusted Tandem starts with it, and shows the session that lives there.
---@param bufnr integer
function M.opened(bufnr)
  local root = M.root(bufnr)
  if links[root] then return follow_buffer(links[root], bufnr) end
  if not config.get().autostart or not trust.known(root) or vim.fn.executable(config.get().cmd[1]) == 0 then return end
  local link = M.open(root)
  if not link then return end
  M.sessions(link, function(sessions)
    local newest = sessions[1]
    if newest and newest.mode ~= 'done' and not link.state then M.attach(link, newest.id, 0) end
  end)
end

vim.api.nvim_create_autocmd('VimLeavePre', {
  group = vim.api.nvim_create_augroup('tandem.client', {}),
  callback = function()
    seen.keep(vim.tbl_map(function(link) return link.state end, links))
  end,
})

return M
