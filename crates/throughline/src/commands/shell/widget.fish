# Opens the UI of Throughline below the prompt. The command that resumes the
# chosen session is put on the command line.
function __throughline_widget
    set -l chosen (throughline ui --print --inline 20 -- (commandline))
    if test -n "$chosen"
        commandline --replace -- $chosen
    end
    commandline --function repaint
end
bind \c@KEY@ __throughline_widget
bind --mode insert \c@KEY@ __throughline_widget
