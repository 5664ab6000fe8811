-- Package lines says what the panel says, line by line. It is pure: it knows no editor, no window and no
-- clock. testdata/wire/README.md is what it follows.
local M = {}

---@class tandem.Place
---@field uri string
---@field range? tandem.Range

---@class tandem.Line
---@field indent integer
---@field text string
---@field actions tandem.Action[] what can be done on this line, as it came
---@field shown boolean the actions are drawn
---@field place? tandem.Place what the line opens
---@field note? integer where the notes begin, in bytes of the text
---@field dim? boolean
---@field kind? 'head'|'task'|'title'|'quiet' how it may be drawn
---@field scope? tandem.Scope what a steer from this line is about

---@class tandem.View what lines are made of, and how far they have come
---@field state tandem.State
---@field session tandem.Session
---@field now number
---@field lines tandem.Line[]

--- A text on one line.
---@param text? string
---@return string
local function flat(text) return ((text or ''):gsub('%s+', ' '):gsub('^ ', ''):gsub(' $', '')) end

--- The first characters of a text.
---@param text string
---@param most integer
---@return string
function M.clip(text, most)
  local characters = {}
  for c in flat(text):gmatch('[%z\1-\127\194-\244][\128-\191]*') do
    characters[#characters + 1] = c
  end
  if #characters <= most then return table.concat(characters) end
  return table.concat(characters, '', 1, most - 1) .. '…'
end

--- The seconds since 1970 of a time of RFC 3339 in UTC.
---@param time string
---@return number
function M.seconds(time)
  local year, month, day, hour, minute, second = time:match('^(%d+)-(%d+)-(%d+)T(%d+):(%d+):([%d.]+)Z$')
  local y, m = tonumber(year), tonumber(month)
  if m <= 2 then y = y - 1 end -- years begin in March, so that the leap day is their last
  local days = math.floor(y * 365.25) - math.floor(y / 100) + math.floor(y / 400)
  days = days + math.floor((153 * ((m + 9) % 12) + 2) / 5) + tonumber(day) - 1 - 719468
  return days * 86400 + tonumber(hour) * 3600 + tonumber(minute) * 60 + tonumber(second)
end

---@param whole integer seconds
local function spell(whole) return whole < 120 and ('%d s'):format(whole) or ('%d min %d s'):format(math.floor(whole / 60), whole % 60) end

--- A URI as people read it: below the workspace relative to it.
---@param session tandem.Session
---@param uri string
---@param range? tandem.Range
---@return string
local function path(session, uri, range)
  local function decoded(u)
    return (u:gsub('%%(%x%x)', function(hex) return string.char(tonumber(hex, 16)) end))
  end
  local root, whole = decoded(session.workspace):gsub('/*$', '/'), decoded(uri)
  local shown = whole:sub(1, #root) == root and whole:sub(#root + 1) or whole:gsub('^file://', '')
  return range and ('%s:%d'):format(shown, range.start.line + 1) or shown
end

---@generic T, R
---@param list? T[]
---@param f fun(item: T): R?
---@return R[] without the gaps
local function map(list, f)
  local out = {}
  for _, item in ipairs(list or {}) do
    out[#out + 1] = f(item)
  end
  return out
end

local function has(list, item)
  return #map(list, function(other) return other == item or nil end) > 0
end

--- The last lines that are not empty.
---@param text? string
---@param most integer
---@return string[]
local function tail(text, most)
  local all, out = {}, {}
  for l in ((text or '') .. '\n'):gmatch('(.-)\n') do
    if l:find('%S') then all[#all + 1] = l end
  end
  for i = math.max(1, #all - most + 1), #all do
    out[#out + 1] = all[i]
  end
  return out
end

---@param v tandem.View
---@param indent integer
---@param text string
---@param more? { notes?: string[], actions?: tandem.Action[], shown?: boolean, place?: tandem.Place, kind?: string, scope?: tandem.Scope }
local function add(v, indent, text, more)
  local line = more or {}
  local notes = line.notes and table.concat(line.notes, ' · ') or ''
  text = flat(text)
  line.indent, line.actions, line.shown, line.notes = indent, line.actions or {}, line.shown or false, nil
  line.note = notes ~= '' and #text or nil
  line.text = notes ~= '' and flat(text .. ' — ' .. notes) or text
  v.lines[#v.lines + 1] = line
end

--- Adds a text, where there is one.
---@param v tandem.View
local function say(v, indent, before, text, kind)
  if flat(text) ~= '' then add(v, indent, before .. text, { kind = kind }) end
end

---@param v tandem.View
local function say_all(v, indent, before, list, kind)
  for _, text in ipairs(list) do
    say(v, indent, before, text, kind)
  end
end

--- Adds a block with an empty line before it; one that says nothing is left out.
---@param v tandem.View
local function block(v, title, fill)
  local from = #v.lines
  add(v, 0, '')
  add(v, 0, title, { kind = 'title' })
  fill()
  if #v.lines == from + 2 then
    v.lines[from + 1], v.lines[from + 2] = nil, nil
  end
end

--- What an operation works on, where it is known.
---@param v tandem.View
---@param id? string
---@return string?
local function target(v, id)
  local op = id and v.state.operations[v.state.operations.at[id]]
  return op and (op.target ~= '' and op.target or op.tool)
end

local modes = { executing = '● Working', paused = '⏸ Paused', waiting = '● Waiting', done = '✓ Done' }

local function head(v)
  local s = v.session
  local turn = s.initiative == 'developer' and 'yes' or 'no'
  add(v, 0, ('%s · your turn: %s · %s'):format(modes[s.mode], turn, s.autonomy), { actions = s.actions, kind = 'head' })
  add(v, 0, s.title, { kind = 'task' })
  if s.mode == 'executing' or s.mode == 'waiting' then say(v, 2, '', v.state.reason) end
end

local paused_by = {
  developer = 'PAUSED BY YOU',
  agent = 'PAUSED BY THE AGENT',
  recovery = 'PAUSED AFTER A CRASH',
  budget = 'PAUSED BY THE BUDGET',
}

local function pause_title(s, p)
  local wires = map(p.facts, function(f) return f.source and f.source.tripwire end)
  local by = p.by == 'tripwire' and 'STOPPED BY ' .. (wires[1] or '') or paused_by[p.by]
  local turn = p.decision and 'the agent changes what you decided' or 'the agent looks into it'
  return ('⏸ %s · %s'):format(by, s.initiative == 'developer' and 'your turn' or turn)
end

---@param f tandem.Fact
local function fact(v, f)
  local from = f.source or {}
  local note = from.uri and path(v.session, from.uri, from.range) or target(v, from.operationId)
  add(v, 2, '- ' .. f.text, { notes = { note }, place = from.uri and { uri = from.uri, range = from.range } })
  if from.tripwire then add(v, 4, ('expected %s · observed %s'):format(from.expected, from.observed), { kind = 'quiet' }) end
end

---@param p tandem.Pause
---@param o tandem.Option
local function option(v, p, number, o)
  local notes = map(o.touches, function(t) return t == 'businessRule' and 'business rule' or t end)
  for _, uri in ipairs(o.files) do
    notes[#notes + 1] = path(v.session, uri)
  end
  local actions = map(p.actions, function(a) return a.params.option == o.id and a or nil end)
  local place = o.files[1] and { uri = o.files[1] }
  add(v, 2, number .. ' ' .. o.title, { notes = notes, actions = actions, place = place })
  say(v, 4, '', o.detail)
end

---@param c tandem.Comparison
local function comparison(v, c)
  local title = ('AFTER YOUR DECISION — %s · %s'):format(c.scenario, c.input.same and 'same input ✓' or 'another input ✗')
  add(v, 2, title, { actions = c.actions, shown = true, kind = 'title' })
  local function verdict(check) return (check.ok and '✓ ' or '✗ ') .. check.observed end
  for _, check in ipairs(c.after.checks) do
    local before = map(c.before.checks, function(b) return b.tripwire == check.tripwire and verdict(b) .. ' → ' or nil end)
    add(v, 4, check.tripwire, { notes = { (before[1] or '') .. verdict(check) } })
  end
  local was, is = c.before.exitCode, c.after.exitCode
  if was ~= 0 or is ~= 0 then add(v, 4, 'exit code', { notes = { ('%d → %d'):format(was, is) } }) end
  for _, change in ipairs(c.changes) do
    add(v, 4, change.what, { notes = { change.before .. ' → ' .. change.after } })
  end
end

local function card(v)
  local p = v.session.pause
  if v.session.mode ~= 'paused' or not p then return end
  block(v, pause_title(v.session, p), function()
    say(v, 2, '', p.reason)
    for _, f in ipairs(p.facts) do
      fact(v, f)
    end
    say(v, 2, 'Likely cause: ', p.likelyCause)
    for number, o in ipairs(p.options) do
      option(v, p, number, o)
    end
    say(v, 2, 'Decided: ', p.decision)
    if p.comparison then comparison(v, p.comparison) end
    local ids = map(p.options, function(o) return o.id end)
    local others = map(p.actions, function(a) return not has(ids, a.params.option) and a or nil end)
    if #others > 0 then add(v, 2, '', { actions = others, shown = true }) end
  end)
end

local function questions(v)
  if v.session.mode == 'paused' then return end
  block(v, 'QUESTIONS · your turn', function()
    for _, q in ipairs(v.session.questions or {}) do
      add(v, 2, '? ' .. q.text, { actions = q.actions, shown = true })
    end
  end)
end

local function done(v)
  if v.session.mode == 'done' then block(v, 'DONE', function() say(v, 2, '', v.state.reason) end) end
end

--- What waits for the developer.
---@return string?
local function waits(v)
  local s = v.session
  if s.mode == 'paused' and s.initiative == 'developer' then
    local reason = flat(s.pause and s.pause.reason)
    return reason ~= '' and reason or 'a pause'
  end
  local n = #(s.questions or {})
  if n > 0 then return n == 1 and '1 question' or n .. ' questions' end
  return map(v.state.decisions, function(d) return d.status == 'open' and d.summary or nil end)[1]
end

local function away(v)
  local a = v.state.away
  if not a then return end
  local changed = map(a.changed, function(uri) return path(v.session, uri) end)
  block(v, 'WHILE YOU WERE AWAY', function()
    say(v, 2, 'done: ', table.concat(a.done, ' · '))
    say(v, 2, 'decided: ', table.concat(a.decided, ' · '))
    say(v, 2, 'changed: ', table.concat(changed, ' · '))
    say(v, 2, 'waits for you: ', waits(v))
  end)
end

--- What the last plan did to a step.
---@return string[]
local function fate(v, step)
  local c = v.state.change
  if not c or c.plan.cause.kind == 'task' then return {} end
  if has(c.diff.added, step.id) then
    return { 'new', ({ steer = 'from your steer', developer = 'from you' })[step.origin.kind] }
  elseif has(c.diff.dropped, step.id) then
    return { 'dropped', has(c.diff.reverted, step.id) and 'edits taken back' or nil }
  end
  return map(c.diff.changed, function(d) return d.after.id == step.id and 'changed' or nil end)
end

---@param step tandem.Step
---@return string[]
local function step_notes(v, step)
  local notes = {}
  if step.verify and step.verified ~= nil then notes[1] = (step.verified and 'verified: ' or 'failed: ') .. step.verify.command end
  if step.status == 'blocked' then notes[#notes + 1] = 'blocked' end
  if step.status == 'active' and #step.files > 0 then
    local names = map(step.files, function(uri) return (path(v.session, uri):match('[^/]*$')) end)
    local more = #names > 3 and ' +' .. #names - 3 or ''
    notes[#notes + 1] = table.concat(names, ', ', 1, math.min(3, #names)) .. more
  end
  for _, note in ipairs(fate(v, step)) do
    notes[#notes + 1] = note
  end
  return notes
end

--- What the agent does in a step, or did last.
---@param step tandem.Step
---@return string
local function intent(v, step)
  local queued, last
  for _, op in ipairs(v.state.operations) do
    if op.stepId == step.id and op.kind == 'tool' and op.effect ~= 'none' then
      if op.status == 'queued' then queued = queued or op end
      if op.status ~= 'queued' and op.status ~= 'cancelled' then last = op end
    end
  end
  return (last or queued or step).intent
end

---@param step tandem.Step
local function below_step(v, step)
  if step.verified == false then
    local run = map(v.state.operations, function(op) return op.stepId == step.id and op.tool == 'verify' and op or nil end)
    say_all(v, 6, '', tail(#run > 0 and run[#run].output or '', 3), 'quiet')
  end
  local mode = v.session.mode
  if step.status == 'active' and (mode == 'executing' or mode == 'paused') then say(v, 6, '', intent(v, step), 'quiet') end
end

local step_marks = { done = '✓ ', active = '▶ ', pending = '○ ', dropped = '– ', blocked = '✗ ' }

local function plan(v)
  local p, number = v.session.plan, 0
  if not p then return end
  block(v, 'PLAN — revision ' .. p.revision, function()
    for _, step in ipairs(p.steps) do
      local dropped = step.status == 'dropped'
      if not dropped then number = number + 1 end
      if not dropped or v.state.change and has(v.state.change.diff.dropped, step.id) then
        local place = step.files[1] and { uri = step.files[1] }
        local more = { notes = step_notes(v, step), actions = step.actions, place = place, scope = { stepId = step.id } }
        add(v, 2, step_marks[step.status] .. (dropped and '' or number .. ' ') .. step.title, more)
        below_step(v, step)
      end
    end
  end)
end

---@param cause tandem.Cause
local function changed_by(v, cause)
  local steer = v.state.steers[v.state.steers.at[cause.id or '']]
  if cause.kind == 'steer' then return 'CHANGED BY ' .. (steer and ('«%s»'):format(M.clip(steer.text, 60)) or 'A STEER') end
  return 'CHANGED BY ' .. ({ developer = 'YOU', pause = 'YOUR DECISION', agent = 'THE AGENT' })[cause.kind]
end

local function change(v)
  local c = v.state.change
  if not c or c.plan.cause.kind == 'task' then return end
  block(v, changed_by(v, c.plan.cause), function()
    local counts = map({ 'kept', 'changed', 'added', 'dropped', 'reverted' }, function(part)
      local word = part == 'reverted' and 'edits taken back' or part
      return #c.diff[part] > 0 and word .. ' ' .. #c.diff[part] or nil
    end)
    say(v, 2, '', table.concat(counts, ' · '))
    say(v, 2, 'cancelled: ', table.concat(map(c.cancelled, function(id) return target(v, id) end), ' · '))
    say_all(v, 2, '! ', c.consequences)
    say_all(v, 2, '! conflict: ', c.conflicts)
  end)
end

--- Those that still wait, and the last three of the others, in their order.
---@generic T
---@param list T[]
---@param waiting fun(item: T): boolean
---@return T[]
local function recent(list, waiting)
  local out, others = {}, 0
  for i = #list, 1, -1 do
    local keeps = waiting(list[i])
    others = others + (keeps and 0 or 1)
    if keeps or others <= 3 then table.insert(out, 1, list[i]) end
  end
  return out
end

--- What a scope is, in words.
---@param state tandem.State
---@param scope? tandem.Scope
---@return string?
function M.about(state, scope)
  if not scope then return end
  if scope.location then return 'about ' .. path(state.session, scope.location.uri, scope.location.range) end
  if scope.operationId then return 'about ' .. (target({ state = state }, scope.operationId) or 'an operation') end
  if scope.decisionId then
    local d = state.decisions[state.decisions.at[scope.decisionId]]
    return d and ('about «%s»'):format(d.summary) or 'about a decision'
  end
  local number = 0
  for _, step in ipairs(state.session.plan and state.session.plan.steps or {}) do
    if step.status ~= 'dropped' then number = number + 1 end
    if step.id == scope.stepId and step.status ~= 'dropped' then return 'about step ' .. number end
  end
  return scope.stepId and 'about a step'
end

local moments = { stepEnd = 'at the end of this step', idle = "at the end of the agent's turn" }

local function steers(v)
  local function waiting(s) return s.status == 'received' or s.status == 'heard' end
  block(v, 'STEERS', function()
    for _, s in ipairs(recent(v.state.steers, waiting)) do
      local revision = s.status == 'applied' and s.planRevision
      local notes = { revision and 'applied in revision ' .. revision or s.status }
      if s.status == 'received' then notes[2] = moments[s.when] end
      notes[#notes + 1] = M.about(v.state, s.scope)
      add(v, 2, ('› «%s»'):format(M.clip(s.text, 60)), { notes = notes, place = s.scope and s.scope.location })
    end
  end)
end

---@param d tandem.Decision
local function decision(v, d)
  local open, notes = d.status == 'open', nil
  if open then
    local left = d.deadline and spell(math.max(0, math.ceil(M.seconds(d.deadline) - v.now)))
    notes = { left or 'waits for your word' }
  elseif d.kind == 'permission' then
    notes = { d.status == 'standing' and 'allowed' or d.chosen and 'not allowed' or 'not asked any more' }
  elseif d.status == 'overridden' then
    local chosen = map(d.alternatives, function(a) return a.id == d.chosen and 'instead: ' .. a.title or nil end)
    notes = { 'overridden', chosen[1] }
  end
  local more = { notes = notes, actions = d.actions, shown = open, place = d.location, scope = { decisionId = d.id } }
  add(v, 2, '◆ ' .. d.summary, more)
  if not open then return end
  say(v, 6, 'why: ', d.rationale, 'quiet')
  for _, a in ipairs(d.alternatives) do
    say(v, 6, ('or %s — '):format(a.title), a.consequence, 'quiet')
  end
end

local function decisions(v)
  block(v, 'DECISIONS', function()
    for _, d in ipairs(recent(v.state.decisions, function(d) return d.status == 'open' end)) do
      decision(v, d)
    end
  end)
end

local function said(v)
  local thoughts = map(v.state.operations, function(op) return op.kind == 'think' and op or nil end)
  local think = thoughts[#thoughts] or { status = 'failed' }
  local words = v.state.words[think.id or ''] or think.status ~= 'failed' and think.output or ''
  block(v, 'SAID', function() say_all(v, 2, '', tail(words, 10)) end)
end

local doing = {
  list_files = { 'listing', 'listed' },
  search = { 'searching', 'searched' },
  read_file = { 'reading', 'read' },
  edit_file = { 'editing', 'edited' },
  write_file = { 'writing', 'wrote' },
  move_file = { 'moving', 'moved' },
  delete_file = { 'deleting', 'deleted' },
  run_command = { 'running', 'ran' },
  verify = { 'verifying', 'verified' },
}

--- What an operation does, or did.
---@param op tandem.Operation
---@return string
local function deed(op)
  if op.kind == 'think' then return 'thinking' end
  local word = doing[op.tool] and doing[op.tool][op.status == 'done' and 2 or 1] .. ' ' or ''
  return word .. (op.target ~= '' and op.target or op.tool)
end

---@param op tandem.Operation
local function running(v, op)
  local whole = op.startedAt and math.floor(v.now - M.seconds(op.startedAt)) or 0
  local note = whole >= 1 and spell(whole) or nil
  if op.status == 'frozen' then note = 'frozen, goes on at resume' end
  if op.status == 'queued' then note = 'waits for the decision' end
  local place = op.files and op.files[1] and { uri = op.files[1] }
  local scope = op.kind == 'tool' and { operationId = op.id } or nil
  add(v, 2, deed(op), { notes = { note }, actions = op.actions, shown = true, place = place, scope = scope })
  if op.effect == 'execute' and op.status ~= 'queued' then say_all(v, 6, '', tail(op.output, 3), 'quiet') end
end

local function now(v)
  local held = {}
  for _, d in ipairs(v.state.decisions) do
    for _, id in ipairs(d.status == 'open' and d.holds or {}) do
      held[id] = true
    end
  end
  block(v, 'NOW', function()
    for _, op in ipairs(v.state.operations) do
      local stands = op.status == 'running' or op.status == 'frozen' or op.status == 'queued' and held[op.id]
      if stands and (op.kind == 'think' or op.effect ~= 'none') then running(v, op) end
    end
  end)
end

---@param op tandem.Operation
---@return string
local function ending(op)
  if op.status == 'done' then return '' end
  if op.status == 'lost' then return ' (outcome unknown)' end
  if op.exitCode then return (' (exit %d)'):format(op.exitCode) end
  if op.status == 'cancelled' then return op.partial and ' (partly done)' or ' (cancelled)' end
  return ' (failed)'
end

local ended = { done = true, failed = true, cancelled = true, lost = true }

local function earlier(v)
  local past = {}
  for i = #v.state.operations, 1, -1 do
    local op = v.state.operations[i]
    if #past < 6 and op.kind == 'tool' and op.effect ~= 'none' and ended[op.status] then past[#past + 1] = deed(op) .. ending(op) end
  end
  block(v, 'EARLIER', function() say(v, 2, '', table.concat(past, ' · '), 'quiet') end)
end

--- A value as compact JSON.
local function compact(value)
  if type(value) == 'string' then return '"' .. value:gsub('["\\]', '\\%0'):gsub('\n', '\\n'):gsub('\t', '\\t') .. '"' end
  if type(value) == 'number' then return ('%.15g'):format(value) end
  if type(value) ~= 'table' then return type(value) == 'boolean' and tostring(value) or 'null' end
  if value[1] ~= nil then return '[' .. table.concat(map(value, compact), ',') .. ']' end
  local fields = {}
  for key, item in pairs(value) do
    fields[#fields + 1] = compact(key) .. ':' .. compact(item)
  end
  table.sort(fields)
  return '{' .. table.concat(fields, ',') .. '}'
end

local function watches(v)
  local function shown(value) return type(value) == 'string' and value or compact(value) end
  block(v, 'WATCHES', function()
    for _, w in ipairs(v.state.watches) do
      local were = {}
      for i, was in ipairs(v.state.were[w.id] or {}) do
        were[i] = shown(was.value)
      end
      local notes = { #were > 0 and 'was ' .. table.concat(were, ' → ') or nil }
      local after = target(v, w.operationId)
      notes[#notes + 1] = after and 'after ' .. after
      if w.error then notes = nil end
      add(v, 2, w.name .. ': ' .. (w.error and 'cannot be read: ' .. w.error or shown(w.value)), { notes = notes, actions = w.actions })
    end
  end)
end

local empty_state = {
  'Say what shall be done: the agent lays out a plan and begins.',
  'Steer at any moment: it stops what became useless, keeps what is good and says what your change costs.',
  'Pause when something does not fit: what runs is frozen, you decide, you resume.',
}

--- The panel.
---@param state? tandem.State none: there is no session
---@param at number the time, in seconds since 1970
---@return tandem.Line[]
function M.lines(state, at)
  local v = { state = state, session = state and state.session, now = at, lines = {} }
  if not state then
    say_all(v, 0, '', empty_state)
    return v.lines
  end
  head(v)
  card(v)
  local bright = #v.lines
  for _, part in ipairs({ questions, done, away, plan, change, steers, decisions, said, now, earlier, watches }) do
    part(v)
  end
  for i = bright + 1, #v.lines do
    v.lines[i].dim = v.session.mode == 'paused'
  end
  return v.lines
end

--- One line as text, and the column behind each action that is drawn.
---@param line tandem.Line
---@return string
---@return integer[]
function M.text(line)
  local text, ends = (' '):rep(line.indent) .. line.text, {}
  for i, a in ipairs(line.shown and line.actions or {}) do
    text = ('%s%s[%s]'):format(text, i == 1 and line.text == '' and '' or ' ', flat(a.title))
    ends[i] = #text
  end
  return text, ends
end

--- The action that Enter means: the one under the column, else the primary one, else the only one that needs
--- no words where the line opens nothing better.
---@param line tandem.Line
---@param column integer in bytes, from 0
---@return tandem.Action?
function M.meant(line, column)
  local _, ends = M.text(line)
  for i, behind in ipairs(ends) do
    if column >= line.indent + #line.text and column < behind then return line.actions[i] end
  end
  for _, a in ipairs(line.actions) do
    if a.kind == 'primary' or #line.actions == 1 and not (a.ask and line.place) then return a end
  end
end

--- The mode and the current intent in a few words, for a statusline.
---@param state tandem.State
---@return string
function M.brief(state)
  local s = state.session
  if s.initiative == 'developer' and s.mode ~= 'done' then return modes[s.mode] .. ' · your turn' end
  for _, step in ipairs(s.mode == 'executing' and s.plan and s.plan.steps or {}) do
    if step.status == 'active' then return modes[s.mode] .. ' · ' .. M.clip(intent({ state = state }, step), 60) end
  end
  return modes[s.mode]
end

--- Why it is the developer's turn, in a sentence, for a notification.
---@param state tandem.State
---@return string
function M.turn(state)
  local s = state.session
  if s.mode == 'done' then return 'done: ' .. M.clip(state.reason or s.title, 200) end
  return 'your turn: ' .. M.clip(waits({ state = state, session = s }) or state.reason or s.title, 200)
end

return M
