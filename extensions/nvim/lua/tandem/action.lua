-- Package action sends back what the daemon said can be done, as it came, after asking for the words that it
-- wants. It decides nothing.
local client = require('tandem.client')
local say = require('tandem.say')
local scratch = require('tandem.scratch')
local M = {}

---@param link tandem.Link
---@param method string
---@param params table
---@param done? fun(result: any)
---@param failed? fun()
function M.send(link, method, params, done, failed)
  if link.state then link.state.away = nil end
  client.request(link, method, params, function(result, err)
    if err then
      if err.code == -32601 then err.message = ('this daemon does not know %s yet'):format(method) end
      if failed then failed() end
      return say.fault(err.message)
    end
    if type(result) == 'table' and result.session and link.state and result.session.id == link.state.session.id then
      link.state.session.actions = result.session.actions
    end
    for _, drift in ipairs(type(result) == 'table' and result.drift or {}) do
      say.info(drift)
    end
    if type(result) == 'table' and result.answer then scratch.show('answer', vim.split(result.answer, '\n')) end
    if done then done(result) end
  end)
end

---@param link tandem.Link
---@param action tandem.Action
function M.run(link, action)
  if not action.ask then return M.send(link, action.method, action.params) end
  local here = link.state and link.state.session.id == action.params.sessionId
  if here and action.method == 'tandem/steer' then return require('tandem.prompt').open(link, action.params.scope, action.ask.prompt) end
  vim.ui.input({ prompt = action.ask.prompt .. ' ' }, function(words)
    if not words or vim.trim(words) == '' then return end
    M.send(link, action.method, vim.tbl_extend('force', action.params, { [action.ask.param] = words }))
  end)
end

---@param link tandem.Link
---@param actions tandem.Action[]
---@param prompt string
function M.choose(link, actions, prompt)
  if #actions == 0 then return say.info('there is nothing to do here') end
  local function title(action) return action.title .. (action.kind == 'danger' and '  (!)' or '') end
  vim.ui.select(actions, { prompt = prompt, format_item = title, kind = 'tandem' }, function(action)
    if action then M.run(link, action) end
  end)
end

--- What waits for the developer: the pause's actions, those of the questions and of the open decisions.
---@param state tandem.State
---@return tandem.Action[]
function M.waiting(state)
  local all = vim.list_extend({}, state.session.pause and state.session.pause.actions or {})
  for _, q in ipairs(state.session.questions or {}) do
    vim.list_extend(all, q.actions)
  end
  for _, d in ipairs(state.decisions) do
    if d.status == 'open' then vim.list_extend(all, d.actions) end
  end
  return all
end

return M
