-- Package wire folds what the daemon says of one session into what is known of it. It is pure: it knows no
-- editor, no clock and no file. testdata/wire/README.md says what it does.
local M = {}

---@class tandem.Away what was told that happened while the developer was away
---@field seen integer the last event that they saw
---@field upto integer the last event of the time away
---@field done string[]
---@field decided string[]
---@field changed string[]

---@class tandem.State
---@field session tandem.Session
---@field operations tandem.Operation[] in the order in which they came; `at` is the place of each id
---@field decisions tandem.Decision[] likewise
---@field steers tandem.Steer[] likewise
---@field watches tandem.Watch[] likewise
---@field were table<string, {at: string, value: any}[]> what each watch was before, the oldest first
---@field words table<string, string> what the agent said, by operation
---@field change? tandem.PlanChangedParams the last one that changed the plan's revision
---@field steps table<string, tandem.StepStatus> as the last planChanged told them
---@field reason? string
---@field away? tandem.Away
---@field seq integer the last event that was told
---@field upto integer the last event that the answer knew of

---@param list table
---@param entity { id: string }
local function put(list, entity)
  local place = list.at[entity.id] or #list + 1
  list.at[entity.id] = place
  list[place] = entity
end

---@param list string[]
---@param text string
local function once(list, text)
  for _, other in ipairs(list) do
    if other == text then return end
  end
  list[#list + 1] = text
end

--- How many earlier values of a watch are kept.
local most_were = 6

---@param state tandem.State
---@param watch tandem.Watch
local function watched(state, watch)
  put(state.watches, watch)
  local were = state.were[watch.id] or {}
  if watch.previous == nil then return end
  for _, was in ipairs(were) do
    if was.at == watch.at then return end
  end
  were[#were + 1] = { at = watch.at, value = watch.previous }
  table.sort(were, function(a, b) return a.at < b.at end)
  if #were > most_were then table.remove(were, 1) end
  state.were[watch.id] = were
end

---@param state tandem.State
---@param seq integer
---@return tandem.Away? the time away, where an event fell into it
local function away(state, seq)
  local a = state.away
  if a and seq > a.seen and seq <= a.upto then return a end
end

---@param diff tandem.Diff
local function empty(diff) return #diff.kept + #diff.changed + #diff.added + #diff.dropped + #diff.reverted == 0 end

--- What each notification does to the state.
---@type table<string, fun(state: tandem.State, params: table)>
M.notifications = {
  ['tandem/progress'] = function(state, params)
    put(state.operations, params.operation)
    if state.session.mode == 'executing' and params.operation.status == 'running' then state.reason = nil end
  end,
  ['tandem/text'] = function(state, params) state.words[params.operationId] = (state.words[params.operationId] or '') .. params.delta end,
  ['tandem/planChanged'] = function(state, params)
    local a = away(state, params.seq)
    for _, step in ipairs(params.plan.steps) do
      if a and step.status == 'done' and state.steps[step.id] ~= 'done' then once(a.done, step.title) end
    end
    state.steps = {}
    for _, step in ipairs(params.plan.steps) do
      state.steps[step.id] = step.status
    end
    state.session.plan = params.plan
    if not empty(params.diff) then
      state.change = params --[[@as tandem.PlanChangedParams]]
    end
  end,
  ['tandem/decision'] = function(state, params)
    put(state.decisions, params.decision)
    local a = away(state, params.seq)
    if a then once(a.decided, params.decision.summary) end
  end,
  ['tandem/steered'] = function(state, params) put(state.steers, params.steer) end,
  ['tandem/watched'] = function(state, params) watched(state, params.watch) end,
  ['tandem/usage'] = function(state, params) state.session.usage = params.usage end,
  ['tandem/modeChanged'] = function(state, params)
    local s = state.session
    s.mode, s.initiative, s.pause, s.questions = params.mode, params.initiative, params.pause, params.questions or {}
    s.actions = params.actions or s.actions
    state.reason = params.reason
  end,
  ['tandem/scenarioRan'] = function(state, params)
    if state.session.pause then state.session.pause.comparison = params.comparison end
  end,
  ['tandem/filesChanged'] = function(state, params)
    local a = away(state, params.seq)
    for _, file in ipairs(a and params.files or {}) do
      once(a.changed, file.uri)
    end
  end,
}

---@return table
local function list() return { at = {} } end

---@return tandem.State
local function fresh()
  return {
    operations = list(),
    decisions = list(),
    steers = list(),
    watches = list(),
    were = {},
    words = {},
    steps = {},
    seq = 0,
    upto = 0,
  }
end

---@param state tandem.State
---@param session tandem.Session
---@param seen? integer
local function answer(state, session, seen)
  state.session, state.upto = session, session.seq
  for _, kind in ipairs({ 'operations', 'decisions' }) do
    for _, entity in ipairs(session[kind] or {}) do
      put(state[kind], entity)
    end
  end
  for _, watch in ipairs(session.watches or {}) do
    watched(state, watch)
  end
  if seen and session.seq > seen then state.away = { seen = seen, upto = session.seq, done = {}, decided = {}, changed = {} } end
end

--- Takes one message in: the answer to a start or an attach, with the last event that the developer saw
--- before they went away, or a notification of the same session.
---@param state? tandem.State none before the first answer
---@param message table a JSON-RPC message
---@param seen? integer
---@return tandem.State
function M.fold(state, message, seen)
  state = state or fresh()
  if message.result then
    answer(state, message.result.session, seen)
    return state
  end
  local take, params = M.notifications[message.method], message.params
  if take and params.sessionId == state.session.id then
    take(state, params)
    state.seq = math.max(state.seq, params.seq)
  end
  return state
end

--- Says whether everything has come that had happened when the answer was given.
---@param state tandem.State
---@return boolean
function M.complete(state) return state.seq >= state.upto end

return M
