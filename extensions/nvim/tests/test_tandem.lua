-- The plugin in a real Neovim, with a real daemon; the model is played by the stories beside this file.
local MiniTest = require('mini.test')
local eq = MiniTest.expect.equality
local root = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h:h')
local stage = dofile(root .. '/tests/stage.lua')
local wait = stage.wait

---@param text string
---@param part string
local function has(text, part)
  if not text:find(part, 1, true) then error(('%q is not in:\n%s'):format(part, text:sub(1, 4000)), 2) end
end

local T = MiniTest.new_set()

T['from start over steer to done'] = function()
  local s = stage.open('greet')
  local e = s:editor()
  e.cmd('Tandem start Let greet.lua greet by the hour')
  e.shows('It greets everybody alike.')
  eq(e.fn.expand('%:t'), 'greet.lua') -- the focus is where it was
  e.steer('take the hour as an argument')
  e.shows('applied in revision 2')
  has(e.panel_text(), 'CHANGED BY «take the hour as an argument»')
  has(e.panel_text(), '! Callers that name no hour are greeted as before.')
  e.shows('[Take German]')
  e.go('The README is in English')
  e.type_keys('<CR>') -- its primary action: Keep
  e.shows('DONE')
  eq(e.panel()[1], '✓ Done · your turn: yes · close')
  has(e.panel_text(), '✓ 2 Take the hour as an argument — verified: sh check.sh · new · from your steer')
  eq(vim.fn.readfile(s.dir .. '/greet.lua')[3], 'function M.greet(name, hour)')
  e.cmd('wincmd p')
  eq({ e.fn.getline(3), e.bo.modified }, { 'function M.greet(name, hour)', false }) -- what was saved stays saved
  wait('one notification', function() return #e.lua_get('notes') > 0 end)
  eq(e.lua_get('notes'), { 'tandem: done: greet takes the hour, and the README says so.' })
  eq(e.lua_get('faults'), {})
end

---@param e table an editor
---@param ns string
---@return table[] the marks of the current buffer
local function marks(e, ns) return e.api.nvim_buf_get_extmarks(0, e.api.nvim_get_namespaces()['tandem.' .. ns], 0, -1, { details = true }) end

T['the agent edits an unsaved buffer, the developer undoes it'] = function()
  local s = stage.open('greet')
  local e = s:editor()
  e.api.nvim_buf_set_lines(0, 0, 0, false, { '-- mine, and not saved' })
  e.cmd('Tandem start Let greet.lua greet by the hour')
  e.shows('It greets everybody alike.')
  has(s.model:body(2), 'mine, and not saved') -- what the agent read
  e.steer('take the hour as an argument')
  wait('the edit is in the buffer', function() return e.fn.getline(4) == 'function M.greet(name, hour)' end)
  local edited = e.api.nvim_buf_get_lines(0, 0, -1, false)
  eq(edited[1], '-- mine, and not saved')
  has(edited[5], 'Good morning')
  wait('the change is marked', function() return #marks(e, 'changes') > 0 end)
  e.cmd('undo')
  eq(
    e.api.nvim_buf_get_lines(0, 0, 5, false),
    { '-- mine, and not saved', 'local M = {}', '', 'function M.greet(name)', "  return 'Hello ' .. name" }
  )
  e.cmd('redo')
  eq(e.api.nvim_buf_get_lines(0, 0, -1, false), edited)
end

T['an edit made while the developer types leaves a history that can be undone'] = function()
  local s = stage.open('greet')
  local e = s:editor()
  local before = e.api.nvim_buf_get_lines(0, 0, -1, false)
  e.cmd('Tandem start Let greet.lua greet by the hour')
  e.shows('It greets everybody alike.')
  e.type_keys('G', 'o', '-- I type')
  e.lua([[local client = require('tandem.client').current()
    require('tandem.prompt').steer(client, 'take the hour as an argument')]])
  wait('the edit is in the buffer', function() return e.fn.getline(3) == 'function M.greet(name, hour)' end)
  e.type_keys(' on', '<Esc>')
  eq(e.fn.getline('$'), '-- I type on')
  e.cmd('undo')
  eq(e.api.nvim_buf_get_lines(0, 0, -1, false), before)
  e.cmd('redo')
  eq({ e.fn.getline(3), e.fn.getline('$') }, { 'function M.greet(name, hour)', '-- I type on' })
end

T['an edit of an older text is refused, and so is one that cannot be made'] = function()
  local s = stage.open('greet')
  local e = s:editor()
  local before = e.api.nvim_buf_get_lines(0, 0, -1, false)
  local function apply(version)
    return e.lua_get(
      [[(function(version)
        local document = { uri = vim.uri_from_bufnr(0), version = version }
        local edits = { { newText = '-- ', range = { start = { line = 0, character = 0 }, ['end'] = { line = 0, character = 0 } } } }
        return require('tandem.edit').apply(nil, { edit = { documentChanges = { { textDocument = document, edits = edits } } } },
          { client_id = vim.lsp.get_clients()[1].id })
      end)(...)]],
      { version }
    )
  end
  e.cmd('Tandem start Let greet.lua greet by the hour')
  e.shows('It greets everybody alike.')
  local version = e.lua_get('vim.lsp.util.buf_versions[vim.api.nvim_get_current_buf()]')
  has(apply(version - 1).failureReason, 'has changed meanwhile')
  e.bo.modifiable = false
  has(apply(version).failureReason, 'cannot be changed')
  eq(e.api.nvim_buf_get_lines(0, 0, -1, false), before)
  e.bo.modifiable = true
  eq(apply(version).applied, true)
  eq({ e.fn.getline(1), e.bo.modified, vim.fn.readfile(s.dir .. '/greet.lua')[1] }, { '-- local M = {}', false, '-- local M = {}' })
end

T["a code action of Neovim's own client steers with the selected words"] = function()
  local s = stage.open('greet')
  local e = s:editor()
  e.cmd('Tandem start Let greet.lua greet by the hour')
  e.shows('It greets everybody alike.')
  e.api.nvim_buf_set_lines(0, 0, 0, false, { '-- tandem: take the hour as an argument' })
  e.lua([[vim.ui.select = function(items, opts, choose)
      titles = vim.tbl_map(opts.format_item, items)
      for _, item in ipairs(items) do
        if opts.format_item(item):find('take the hour', 1, true) then return choose(item) end
      end
    end]])
  e.cmd('1')
  e.lua('vim.lsp.buf.code_action()')
  e.shows('› «take the hour as an argument» — applied in revision 2 · about greet.lua:1')
end

T['two editors on one session'] = function()
  local s = stage.open('greet')
  local one = s:editor()
  one.cmd('Tandem start Let greet.lua greet by the hour')
  one.shows('It greets everybody alike.')
  local two = s:editor('check.sh', { autostart = true })
  two.cmd('Tandem plan')
  two.shows('thinking') -- it shows by itself what lives in a trusted workspace
  two.steer('take the hour as an argument')
  one.shows('applied in revision 2')
  one.shows('[Take German]')
  two.shows('[Take German]')
  eq(one.fn.getcompletion('Tandem decide ', 'cmdline'), { 'Keep', 'Say otherwise…', 'Take German' })
  eq(one.fn.getcompletion('Tandem decide Take G', 'cmdline'), { 'German' })
  one.cmd('Tandem decide Take German')
  two.shows('DONE')
  has(two.panel_text(), '◆ The README is in English — overridden · instead: German')
  one.shows('DONE')
  eq(one.panel(), two.panel())
  has(vim.fn.readfile(s.dir .. '/README.md')[1], 'grüßt')
end

T['a daemon that is killed is started again, and nothing is lost'] = function()
  local s = stage.open('greet')
  local e = s:editor()
  e.cmd('Tandem start Let greet.lua greet by the hour')
  e.shows('It greets everybody alike.')
  e.lua([[require('tandem.client').request(require('tandem.client').current(), 'tandem/none', {}, function(_, err) answer = err end)]])
  local first = s:daemon()
  stage.kill(first)
  e.shows('⏸ PAUSED AFTER A CRASH')
  eq(s:daemon() ~= first, true)
  wait('what was asked is settled', function() return e.lua_get('answer ~= nil') end)
  has(e.cmd_capture('messages'), 'this session goes on where it was')
  e.go('[Say what shall change…] [Resume]')
  e.type_keys('<CR>') -- its primary action: Resume
  e.shows('I go on with the sentence,')
  e.steer('take the hour as an argument')
  e.shows('[Take German]')
  -- It dies again, at once: that is said, and it is not tried for ever.
  stage.kill(s:daemon())
  e.shows('✗ the daemon ended twice; see :checkhealth tandem, then :Tandem attach')
  eq(s:daemon(), nil)
  e.cmd('wincmd p')
  e.lua([[require('tandem.client').attach(require('tandem.client').open(require('tandem.client').root(0)),
    require('tandem.client').current().state.session.id, 0)]])
  e.shows('⏸ PAUSED AFTER A CRASH')
  has(e.panel_text(), 'applied in revision 2')
end

T['a forwarder that is killed is started again, and the work has gone on'] = function()
  local s = stage.open('greet')
  local e = s:editor()
  e.cmd('Tandem start Let greet.lua greet by the hour')
  e.shows('It greets everybody alike.')
  local daemon = s:daemon()
  local id = e.lua_get('require("tandem.client").current().id')
  stage.kill(stage.children(e.fn.getpid())[1])
  wait(
    'the connection is made again',
    function() return e.lua_get('require("tandem.client").current().id ~= ... and require("tandem.client").current().ready', { id }) end
  )
  e.steer('take the hour as an argument')
  e.shows('applied in revision 2')
  eq(s:daemon(), daemon)
  eq(e.lua_get('notes'), {})
  e.lua([[local c = vim.lsp.get_clients({ name = 'tandem' })[1]
    if vim.fn.has('nvim-0.11') == 1 then c:stop() else c.stop() end]])
  e.shows('✗ the connection was ended; :Tandem attach makes it again')
  e.steer('again') -- its words are kept
  has(e.cmd_capture('messages'), 'the connection was ended')
  e.cmd('Tandem steer')
  eq(e.api.nvim_get_current_line(), 'again')
end

T['a pause of the agent is decided and resumed'] = function()
  local s = stage.open('pause')
  local e = s:editor('report.txt')
  e.cmd('Tandem start Every order has to be in the report')
  e.shows('⏸ PAUSED BY THE AGENT · your turn')
  eq(e.lua_get('notes'), { 'tandem: your turn: Orders and report disagree; I stop here.' })
  e.go('1 Write the report again')
  e.lua([[vim.ui.select = function(items, opts, choose) offered = vim.tbl_map(opts.format_item, items); choose(items[1]) end]])
  e.type_keys('a')
  wait('the actions are offered', function() return e.lua_get('offered ~= nil') end)
  eq(e.lua_get('offered')[1], 'Take: Write the report again')
  e.shows('Decided: Write the report again')
  e.shows('resume when you have looked')
  eq(e.fn.getcompletion('Tandem re', 'cmdline'), { 'resume', 'revert' })
  e.cmd('Tandem resume')
  e.shows('DONE')
  eq(vim.fn.readfile(s.dir .. '/report.txt'), { 'rows: 2' })
end

T['the developer pauses and says what shall change'] = function()
  local s = stage.open('greet')
  local e = s:editor()
  e.cmd('Tandem start Let greet.lua greet by the hour')
  e.shows('It greets everybody alike.')
  e.cmd('Tandem pause')
  e.shows('⏸ PAUSED BY YOU')
  eq(e.lua_get('notes'), { 'tandem: your turn: a pause' })
  e.cmd('Tandem resume')
  e.shows('● Working · your turn: no')
end

T['a verification that fails is shown, with its last words'] = function()
  local s = stage.open('failing')
  local e = s:editor('check.sh')
  e.cmd('Tandem start Make the check pass')
  e.shows('Shall I go on?')
  has(e.panel_text(), '▶ 1 Make it pass — failed: sh check.sh · check.sh\n      expected 2, got 1\n')
  has(e.panel_text(), 'verifying sh check.sh (exit 1) · read check.sh')
end

T['the prompt'] = MiniTest.new_set()

T['the prompt']['shows its scope, steers about a selection and at the end of the step'] = function()
  local s = stage.open('greet')
  local e = s:editor()
  e.cmd('Tandem start Let greet.lua greet by the hour')
  e.shows('It greets everybody alike.')
  e.type_keys('3G', 'V', 'j', ':Tandem steer<CR>')
  local config = e.lua_get('vim.api.nvim_win_get_config(0)')
  has(config.title[1][1], '[greet.lua:3]')
  has(config.footer[1][1], '<M-CR> at the end of this step')
  e.type_keys('keep the name', '<M-CR>')
  e.shows('› «keep the name» — received · at the end of this step · about greet.lua:3')
  eq(e.fn.expand('%:t'), 'greet.lua')
  -- What was not sent is there the next time; an empty one is not sent.
  e.cmd('Tandem steer')
  e.type_keys('take the', '<Esc>', '<Esc>')
  e.cmd('Tandem steer')
  eq(e.api.nvim_get_current_line(), 'take the')
  e.type_keys(' hour', '<C-j>', 'as an argument', '<CR>')
  e.shows('› «take the hour as an argument» — applied in revision 2')
  e.cmd('Tandem steer')
  e.type_keys('<CR>')
  eq(e.bo.filetype, 'tandem-steer')
  e.type_keys('<C-c>')
  eq(e.fn.mode(), 'n')
end

T['the prompt']['is about the line of the panel that it was opened from'] = function()
  local s = stage.open('greet')
  local e = s:editor()
  e.cmd('Tandem start Let greet.lua greet by the hour')
  e.shows('It greets everybody alike.')
  e.go('2 Ask the clock in greet')
  e.type_keys('s')
  has(e.lua_get('vim.api.nvim_win_get_config(0)').title[1][1], '[step 2]')
  e.type_keys('take the hour as an argument', '<CR>')
  e.shows('applied in revision 2')
  e.shows('about a step')
end

T['a check-in and an answer are shown, and the focus stays'] = function()
  local s = stage.open('greet')
  local e = s:editor()
  e.cmd('Tandem start Let greet.lua greet by the hour')
  e.shows('It greets everybody alike.')
  local function shown(name)
    for _, buf in ipairs(e.api.nvim_list_bufs()) do
      if e.api.nvim_buf_get_name(buf):find('tandem://' .. name, 1, true) then
        return table.concat(e.api.nvim_buf_get_lines(buf, 0, -1, false), '\n')
      end
    end
  end
  e.cmd('Tandem checkin')
  local text = wait('the check-in is shown', function() return shown('check-in') end)
  for _, part in ipairs({ 'CHECK-IN · the agent goes on', 'I ask the clock in greet.', '✓ greet.lua is read.', 'The greeting itself' }) do
    has(text, part)
  end
  e.lua([[local link = require('tandem.client').current()
    local params = { sessionId = link.state.session.id, question = 'Why an argument?' }
    require('tandem.action').run(link, { title = 'Why?', method = 'tandem/ask', params = params })]])
  has(wait('the answer is shown', function() return shown('answer') end), 'a test can say what time it is')
  eq(e.fn.expand('%:t'), 'greet.lua')
end

T['a step is reverted after it was shown what that does'] = function()
  local s = stage.open('greet')
  local e = s:editor()
  local before = e.api.nvim_buf_get_lines(0, 0, -1, false)
  e.cmd('Tandem start Let greet.lua greet by the hour')
  e.shows('It greets everybody alike.')
  e.steer('take the hour as an argument')
  e.shows('[Take German]')
  e.cmd('Tandem decide Keep')
  e.shows('DONE')
  eq(e.fn.getline(3), 'function M.greet(name, hour)')
  e.lua('vim.fn.confirm = function(words) asked = words; return 1 end')
  e.cmd('Tandem revert 2')
  wait('the edit is taken back', function() return e.fn.getline(3) == 'function M.greet(name)' end)
  has(e.lua_get('asked'), 'Revert «Take the hour as an argument»?')
  has(e.lua_get('asked'), 'greet.lua: ')
  wait('that is said', function() return e.cmd_capture('messages'):find('reverted 1 file', 1, true) end)
  eq(e.api.nvim_buf_get_lines(0, 0, -1, false), before)
  eq(vim.fn.readfile(s.dir .. '/greet.lua'), before)
end

T['a line of the panel opens its place, and the panel keeps its window'] = function()
  local s = stage.open('greet')
  local e = s:editor('check.sh')
  e.cmd('Tandem start Let greet.lua greet by the hour')
  e.shows('It greets everybody alike.')
  for _, key in ipairs({ 'o', '<CR>' }) do
    e.cmd('wincmd t')
    e.cmd('edit check.sh')
    e.go('2 Ask the clock in greet')
    e.type_keys(key)
    eq({ e.fn.expand('%:t'), e.fn.winnr('$') }, { 'greet.lua', 2 })
  end
  e.go('PLAN')
  e.cmd('Tandem log')
  wait('the log is there', function() return e.api.nvim_buf_get_name(0):find('tandem://log', 1, true) end)
  e.type_keys('q')
  eq({ e.fn.winnr('$'), e.fn.bufwinnr('tandem://panel') > 0 }, { 2, true })
  e.go('PLAN')
  e.type_keys('q')
  eq({ e.fn.winnr('$'), e.fn.bufwinnr('tandem://panel') }, { 1, -1 })
  e.cmd('Tandem')
  e.shows('PLAN')
  eq(e.fn.bufname(), 'tandem://panel')
end

T['what was changed and decided is marked in the code'] = function()
  local s = stage.open('greet')
  local e = s:editor()
  e.cmd('Tandem start Let greet.lua greet by the hour')
  e.shows('It greets everybody alike.')
  e.steer('take the hour as an argument')
  e.shows('[Take German]')
  wait('the file is read again', function() return e.fn.getline(3) == 'function M.greet(name, hour)' end)
  eq(vim.tbl_map(function(m) return m[2] end, marks(e, 'changes')), { 2, 3, 4 })
  local choice = marks(e, 'decisions')
  eq({ #choice, choice[1][2] }, { 1, 2 })
  has(choice[1][4].virt_text[1][1], '◆ The README is in English')
  has(e.lua_get('require("tandem").statusline()'), '● Working · ')
  e.cmd('3')
  e.cmd('doautocmd CursorHold')
  eq(marks(e, 'changes'), {})
  e.cmd('Tandem decide Keep')
  e.shows('DONE')
  eq(marks(e, 'decisions')[1][4].virt_text, nil)
end

T['a workspace that is not trusted runs no command'] = function()
  local s = stage.open('greet')
  local e = s:editor('greet.lua', { trust = {} })
  e.lua([[asked = 0; vim.fn.confirm = function() asked = asked + 1; return 2 end]])
  e.cmd('Tandem start Let greet.lua greet by the hour')
  e.shows('It greets everybody alike.')
  e.steer('take the hour as an argument')
  e.shows('[Take German]')
  eq(e.lua_get('asked'), 1)
  eq(e.panel_text():find('verified', 1, true), nil)
  eq(e.fn.filereadable(e.fn.stdpath('state') .. '/tandem-trusted'), 0)
end

T['a workspace that is trusted is remembered'] = function()
  local s = stage.open('greet')
  local e = s:editor('greet.lua', { trust = {} })
  e.lua([[vim.fn.confirm = function() return 1 end]])
  eq(e.lua_get('require("tandem.trust").ask(...)', { s.dir }), true)
  local other = s:editor('greet.lua', { trust = {} })
  eq(other.lua_get('require("tandem.trust").known(...)', { s.dir }), true)
  eq(other.lua_get('require("tandem.trust").known(...)', { s.dir .. '2' }), false)
  vim.fn.delete(e.fn.stdpath('state') .. '/tandem-trusted')
end

T['one who comes back is told what happened'] = function()
  local s = stage.open('greet')
  local one = s:editor('check.sh') -- its end shall not come between the agent and greet.lua
  one.cmd('Tandem start Let greet.lua greet by the hour')
  one.shows('It greets everybody alike.')
  local two = s:editor('check.sh', { autostart = true })
  two.cmd('Tandem plan')
  two.shows('thinking')
  local id = one.lua_get('require("tandem.client").current().state.session.id')
  pcall(one.cmd, 'qall!')
  wait('what was seen is noted', function() return require('tandem.seen').of(id) end)
  two.steer('take the hour as an argument')
  two.shows('[Take German]')
  local three = s:editor('greet.lua', { autostart = true })
  three.cmd('Tandem plan')
  three.shows('WHILE YOU WERE AWAY')
  three.shows('  changed: greet.lua')
  three.shows('  waits for you: The README is in English')
  three.cmd('wincmd t')
  wait('the changes are marked where they are now', function()
    return vim.deep_equal(vim.tbl_map(function(m) return m[2] end, marks(three, 'changes')), { 2, 3, 4 })
  end)
  three.cmd('Tandem decide Keep')
  three.shows('DONE')
  eq(three.panel_text():find('WHILE YOU WERE AWAY', 1, true), nil)
end

T['a client command asks for the words of an action'] = function()
  local s = stage.open('greet')
  local e = s:editor()
  e.cmd('Tandem start Let greet.lua greet by the hour')
  e.shows('It greets everybody alike.')
  e.lua([[vim.lsp.commands['tandem.ask']({ arguments = { require('tandem.client').current().state.session.actions[1] } }, {})]])
  eq(e.bo.filetype, 'tandem-steer')
  e.type_keys('take the hour as an argument', '<CR>')
  e.shows('applied in revision 2')
end

T['a missing program is said once, with the way out'] = function()
  local s = stage.open('greet')
  local e = s:editor('greet.lua', { cmd = { 'no-such-program' } })
  e.cmd('Tandem start something')
  has(e.cmd_capture('messages'), '`no-such-program` is not on the PATH')
  e.cmd('checkhealth tandem')
  has(table.concat(e.api.nvim_buf_get_lines(0, 0, -1, false), '\n'), '`no-such-program` is not on the PATH')
end

T[':checkhealth'] = function()
  local s = stage.open('greet')
  local e = s:editor()
  e.cmd('Tandem start Let greet.lua greet by the hour')
  e.shows('It greets everybody alike.')
  e.cmd('checkhealth tandem')
  local text = table.concat(e.api.nvim_buf_get_lines(0, 0, -1, false), '\n')
  has(text, 'Neovim 0.')
  has(text, 'tandem 0.')
  has(text, 'this workspace is trusted: ' .. s.dir)
  has(text, '1 connection(s) to a daemon')
end

T[':Tandem log shows what happened, and commands complete'] = function()
  local s = stage.open('greet')
  local e = s:editor()
  e.cmd('Tandem steer')
  has(e.cmd_capture('messages'), ':Tandem start TASK begins one')
  e.cmd('Tandem start Let greet.lua greet by the hour')
  e.shows('It greets everybody alike.')
  eq(
    e.fn.getcompletion('Tandem ', 'cmdline'),
    { 'attach', 'checkin', 'decide', 'log', 'pause', 'plan', 'resume', 'revert', 'start', 'steer' }
  )
  eq(e.fn.getcompletion('Tandem revert ', 'cmdline'), { 's1', 's2', 's3' })
  local id = e.lua_get('require("tandem.client").current().state.session.id')
  eq(e.fn.getcompletion('Tandem attach ', 'cmdline'), { id })
  e.cmd('Tandem log')
  wait('the log is there', function() return e.api.nvim_buf_get_name(0):find('tandem://log') end)
  local text = table.concat(e.api.nvim_buf_get_lines(0, 0, -1, false), '\n')
  has(text, 'started')
  has(text, 'planned')
end

T['the help has a tag for each command, map and function'] = function()
  local doc = vim.fn.tempname()
  vim.fn.mkdir(doc, 'p')
  vim.fn.writefile(vim.fn.readfile(root .. '/doc/tandem.txt'), doc .. '/tandem.txt')
  vim.cmd('helptags ' .. doc)
  local tags = table.concat(vim.tbl_map(function(l) return l:match('^[^\t]+') end, vim.fn.readfile(doc .. '/tags')), '\n') .. '\n'
  for _, sub in ipairs({ 'attach', 'checkin', 'decide', 'log', 'pause', 'plan', 'resume', 'revert', 'start', 'steer' }) do
    has(tags, ':Tandem-' .. sub .. '\n')
  end
  for _, tag in ipairs({
    ':Tandem',
    'g:tandem',
    'tandem.setup()',
    'tandem.statusline()',
    'tandem-panel',
    '<Plug>(tandem-steer)',
  }) do
    has(tags, tag .. '\n')
  end
end

T['what a stop condition stopped is decided, run again and compared'] = function()
  local s = stage.open('stopped')
  local e = s:editor('report.sh')
  e.cmd('Tandem start Write the report')
  e.shows('⏸ STOPPED BY every-order · your turn')
  e.shows('1 Count the lines')
  has(e.panel_text(), '    expected 2 · observed 0')
  local n = #e.lua_get('notes')
  e.go('1 Count the lines')
  e.type_keys('<CR>') -- its only action: Take
  e.shows('AFTER YOUR DECISION — report · same input ✓')
  e.shows('    every-order — ✗ 0 → ✓ 2')
  e.type_keys('d')
  eq({ e.fn.winnr('$'), e.lua_get('vim.wo.diff'), e.fn.tabpagenr('$') }, { 2, true, 2 })
  local after = table.concat(e.api.nvim_buf_get_lines(0, 0, -1, false), '\n')
  has(after, '✓ every-order\n      expected 2\n      observed 2')
  has(after, 'report.json /rows: 2')
  e.cmd('wincmd h')
  has(table.concat(e.api.nvim_buf_get_lines(0, 0, -1, false), '\n'), '✗ every-order')
  e.cmd('tabclose')
  e.cmd('Tandem resume')
  e.shows('DONE')
  eq({ n > 0, vim.fn.readfile(s.dir .. '/report.json') }, { true, { '{"rows": 2}' } })
end

T['from <CR> in the prompt to the request at the model server'] = function()
  local s = stage.open('greet')
  local e = s:editor()
  e.cmd('Tandem start Let greet.lua greet by the hour')
  e.shows('It greets everybody alike.')
  local took = {}
  for i = 1, 20 do
    local before = #s.model:requests()
    e.cmd('Tandem steer')
    e.type_keys('again ' .. i)
    e.lua([[vim.on_key(function(_, typed) if typed == '\r' and not pressed then pressed = { vim.uv.gettimeofday() } end end)]])
    e.type_keys('<CR>')
    local all = wait('the request comes', function()
      local all = s.model:requests()
      return #all > before and all
    end)
    local at = e.lua_get('pressed')
    e.lua('pressed = nil')
    took[i] = all[before + 1].at - (at[1] * 1000 + at[2] / 1000)
    wait('it is answered', function() return e.panel_text():find('again ' .. i, 1, true) and s.model:requests()[before + 1].status ~= 0 end)
  end
  table.sort(took)
  MiniTest.add_note(('latency: median %.1f ms, worst %.1f ms of %d steers'):format((took[10] + took[11]) / 2, took[20], #took))
end

return T
