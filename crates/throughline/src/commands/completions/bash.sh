
# Ids, workspaces, agents and tags come from the store.
_throughline_dynamic() {
    local current="${COMP_WORDS[COMP_CWORD]}" kind=""
    case "${COMP_WORDS[COMP_CWORD-1]}" in
        --workspace) kind=workspaces ;;
        --agent | --to) kind=agents ;;
        --tag | --session-tag) kind=tags ;;
        --session | --raw) kind=sessions ;;
    esac
    if [[ -z $kind && $current != -* ]]; then
        case "${COMP_WORDS[1]}" in
            {commands}) kind=sessions ;;
        esac
    fi
    if [[ -n $kind ]]; then
        mapfile -t COMPREPLY < <(throughline complete "$kind" "$current" 2>/dev/null | cut -f 1)
    else
        _throughline "$@"
    fi
}
complete -F _throughline_dynamic -o bashdefault -o default throughline
