
# Ids, workspaces, agents and tags come from the store.
_throughline_dynamic() {
    local current="${COMP_WORDS[COMP_CWORD]}" kind="" command="" i
    case "${COMP_WORDS[COMP_CWORD-1]}" in
        --workspace) kind=workspaces ;;
        --agent | --to | --in | --flavor) kind=agents ;;
        --tag | --session-tag) kind=tags ;;
        --session | --raw) kind=sessions ;;
    esac
    if [[ -z $kind && $current != -* ]]; then
        # The options of all commands may stand before the command.
        for ((i = 1; i < COMP_CWORD; i++)); do
            case "${COMP_WORDS[i]}" in
                --home | --config | --color) ((i++)) ;;
                -*) ;;
                *) command="${COMP_WORDS[i]}"; break ;;
            esac
        done
        case "$command" in
            # The first word behind `tag` is a session, the others are tags.
            tag) ((COMP_CWORD > i + 1)) && kind=tags || kind=sessions ;;
            {commands}) kind=sessions ;;
            install | uninstall) kind=agents ;;
        esac
    fi
    if [[ -n $kind ]]; then
        mapfile -t COMPREPLY < <(throughline complete "$kind" "$current" 2>/dev/null | cut -f 1)
    else
        _throughline "$@"
    fi
}
complete -F _throughline_dynamic -o bashdefault -o default throughline
