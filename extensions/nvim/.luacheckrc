std = 'luajit'
globals = { 'vim' }
max_line_length = false
files['tests'] = { globals = { 'vim', 'arg' } }
