-- Package command is :Tandem and its completion.
local action = require('tandem.action')
local client = require('tandem.client')
local config = require('tandem.config')
local say = require('tandem.say')
local scratch = require('tandem.scratch')
local M = {}

--- The connection with a session, or nothing and a word about what to do.
---@return tandem.Link?
local function with_session()
  local link = client.current()
  if link and link.state then return link end
  say.info('no session is shown here: :Tandem start TASK begins one, :Tandem attach shows one')
end

---@param args table
---@return tandem.Scope? the lines that the command was given
local function selected(args)
  if args.range == 0 or vim.bo.buftype ~= '' then return end
  local range = { start = { line = args.line1 - 1, character = 0 }, ['end'] = { line = args.line2, character = 0 } }
  return { location = { uri = vim.uri_from_bufnr(0), range = range } }
end

---@param words string
---@param ask string
---@param f fun(words: string)
local function or_ask(words, ask, f)
  if words ~= '' then return f(words) end
  vim.ui.input({ prompt = ask }, function(typed)
    if typed and vim.trim(typed) ~= '' then f(typed) end
  end)
end

---@param sessions tandem.Session[]
local function describe(session) return ('%s  %s · %s'):format(session.id, session.mode, session.title) end

--- A step by its number or its id.
---@param link tandem.Link
---@param word string
---@return tandem.Step?
local function step(link, word)
  local number = 0
  for _, s in ipairs(link.state.session.plan and link.state.session.plan.steps or {}) do
    if s.status ~= 'dropped' then number = number + 1 end
    if s.id == word or s.status ~= 'dropped' and tostring(number) == word then return s end
  end
end

local function revert(link, what)
  local params = { sessionId = link.state.session.id, stepId = what.id }
  action.send(link, 'tandem/revert', vim.tbl_extend('force', params, { dryRun = true }), function(dry)
    local told = vim.tbl_map(function(f) return ('  %s: %s'):format(vim.fs.basename(f.uri), f.status) end, dry.files)
    vim.list_extend(told, vim.tbl_map(function(c) return '  ! ' .. c end, dry.conflicts))
    if #dry.files == 0 then return say.info(table.concat(vim.list_extend({ 'there is nothing to take back' }, told), '\n')) end
    local words = ('Revert «%s»?\n%s'):format(what.title, table.concat(told, '\n'))
    if vim.fn.confirm(words, '&Revert\n&Keep', 2, 'Question') ~= 1 then return end
    action.send(
      link,
      'tandem/revert',
      params,
      function(done) say.info(('reverted %d file%s'):format(#done.files, #done.files == 1 and '' or 's')) end
    )
  end)
end

---@param c tandem.CheckIn
---@return string[]
local function checked_in(c)
  local out = { c.verdict == 'continue' and 'CHECK-IN · the agent goes on' or 'CHECK-IN · your turn', '', c.brief.goal }
  local function list(title, items)
    if #items > 0 then vim.list_extend(out, { '', title }) end
    vim.list_extend(out, vim.tbl_map(function(text) return '  ' .. text end, items))
  end
  list('CONTRADICTIONS', vim.tbl_map(function(x) return ('! %s — %s'):format(x.claim, x.fact) end, c.contradictions))
  list('NEXT', vim.tbl_map(function(n) return n.text end, c.nextSteps))
  list('DONE', vim.tbl_map(function(d) return (d.grounded and '✓ ' or '? ') .. d.text end, c.brief.done))
  list('REMAINING', c.brief.remaining)
  list('ASSUMPTIONS', c.brief.assumptions)
  list('RISKS', c.brief.risks)
  list('QUESTIONS', vim.tbl_map(function(q) return q.text end, c.questions))
  list('SIGNALS', c.signals)
  return vim.split(table.concat(out, '\n'), '\n')
end

---@type table<string, fun(words: string, args: table)>
local subs = {
  start = function(words)
    local link = client.open(client.root(0))
    if not link then return end
    or_ask(words, 'What shall be done? ', function(task)
      local c = config.get()
      action.send(
        link,
        'tandem/session/start',
        { task = task, autonomy = c.autonomy, model = c.model },
        function(result) client.show(link, result.session) end
      )
      require('tandem.panel').open()
    end)
  end,
  attach = function(words)
    local link = client.open(client.root(0))
    if not link then return end
    require('tandem.panel').open()
    if words ~= '' then return client.attach(link, words, 0) end
    client.sessions(link, function(sessions)
      if #sessions == 0 then return say.info('this workspace has no session; :Tandem start TASK begins one') end
      vim.ui.select(sessions, { prompt = 'Session', format_item = describe }, function(chosen)
        if chosen then client.attach(link, chosen.id, 0) end
      end)
    end)
  end,
  steer = function(words, args)
    local link = with_session()
    if not link then return end
    if words ~= '' then return require('tandem.prompt').steer(link, words, selected(args)) end
    require('tandem.prompt').open(link, selected(args))
  end,
  plan = function() require('tandem.panel').open(true) end,
  pause = function(words)
    local link = with_session()
    if link then action.send(link, 'tandem/pause', { sessionId = link.state.session.id, reason = words ~= '' and words or nil }) end
  end,
  resume = function(words)
    local link = with_session()
    if not link then return end
    local knows = words == 'anyway' or nil
    action.send(link, 'tandem/resume', { sessionId = link.state.session.id, acknowledgeDrift = knows })
  end,
  checkin = function(words)
    local link = with_session()
    if not link then return end
    say.info('checking in …')
    local params = { sessionId = link.state.session.id, text = words ~= '' and words or nil }
    action.send(link, 'tandem/checkIn', params, function(result) scratch.show('check-in', checked_in(result.checkIn)) end)
  end,
  decide = function(words)
    local link = with_session()
    if not link then return end
    local all = action.waiting(link.state)
    if words == '' then return action.choose(link, all, 'Decide') end
    for _, a in ipairs(all) do
      if a.title == words then return action.run(link, a) end
    end
    say.info(('nothing is called «%s»; :Tandem decide shows what can be decided'):format(words))
  end,
  revert = function(words)
    local link = with_session()
    if not link then return end
    if words ~= '' then
      local found = step(link, words)
      return found and revert(link, found) or say.info(('the plan has no step %s'):format(words))
    end
    local steps = link.state.session.plan and link.state.session.plan.steps or {}
    vim.ui.select(steps, { prompt = 'Revert step', format_item = function(s) return s.title end }, function(chosen)
      if chosen then revert(link, chosen) end
    end)
  end,
  log = function()
    local link = with_session()
    if not link then return end
    local function event(e) return ('%5d  %s  %-14s %s'):format(e.seq, e.at:sub(12, 19), e.kind, vim.json.encode(e.data)) end
    action.send(link, 'tandem/history', { sessionId = link.state.session.id, limit = 100000 }, function(result)
      vim.cmd('botright sbuffer ' .. scratch.buffer('log', vim.tbl_map(event, result.events)))
      vim.wo.wrap = false
      vim.cmd('normal! G')
    end)
  end,
}

---@param args table as of nvim_create_user_command
function M.run(args)
  local name, words = vim.trim(args.args):match('^(%S*)%s*(.*)$')
  local sub = subs[name == '' and 'plan' or name]
  if not sub then return say.fault(('there is no :Tandem %s; :help :Tandem'):format(name)) end
  sub(words, args)
end

---@type table<string, fun(link: tandem.Link): string[]>
local completions = {
  attach = function(link)
    return vim.tbl_map(function(s) return s.id end, client.sessions_now(link, 500))
  end,
  decide = function(link)
    return vim.tbl_map(function(a) return a.title end, link.state and action.waiting(link.state) or {})
  end,
  revert = function(link)
    return vim.tbl_map(function(s) return s.id end, link.state and link.state.session.plan and link.state.session.plan.steps or {})
  end,
}

---@param lead string
---@param line string the command line up to the cursor
---@return string[]
function M.complete(lead, line)
  local name, rest = line:match('Tandem!?%s+(%S+)%s+(.*)$')
  local link = client.current()
  local all = name and link and completions[name] and completions[name](link) or name and {} or vim.tbl_keys(subs)
  table.sort(all)
  -- A title has spaces: what was typed of it stands before the word that is completed.
  local typed = name and rest or lead
  local before = #typed - #lead
  return vim.tbl_map(function(c) return c:sub(before + 1) end, vim.tbl_filter(function(c) return vim.startswith(c, typed) end, all))
end

return M
