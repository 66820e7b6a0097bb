# Opens the UI of Throughline below the prompt. The command that resumes the
# chosen session is put on the command line.
__throughline_widget() {
    local chosen
    chosen=$(throughline ui --print --inline 20 -- "$READLINE_LINE") || return
    if [[ -n $chosen ]]; then
        READLINE_LINE=$chosen
        READLINE_POINT=${#READLINE_LINE}
    fi
}
bind -m emacs -x '"\C-@KEY@": __throughline_widget'
bind -m vi-insert -x '"\C-@KEY@": __throughline_widget'
