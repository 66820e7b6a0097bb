# Opens the UI of Throughline below the prompt. The command that resumes the
# chosen session is put on the command line.
__throughline_widget() {
    local chosen
    chosen=$(throughline ui --print --inline 20 -- "$BUFFER" </dev/tty)
    if [[ -n $chosen ]]; then
        BUFFER=$chosen
        CURSOR=${#BUFFER}
    fi
    zle reset-prompt
}
zle -N __throughline_widget
bindkey -M emacs '^@KEY@' __throughline_widget
bindkey -M viins '^@KEY@' __throughline_widget
