
# Ids, workspaces, agents and tags come from the store.
_throughline_dynamic() {
    local kind=""
    local -a found
    case "${words[CURRENT-1]}" in
        --workspace) kind=workspaces ;;
        --agent | --to) kind=agents ;;
        --tag | --session-tag) kind=tags ;;
        --session | --raw) kind=sessions ;;
    esac
    if [[ -z $kind && ${words[CURRENT]} != -* ]]; then
        case "${words[2]}" in
            {commands}) (( CURRENT > 2 )) && kind=sessions ;;
        esac
    fi
    if [[ -n $kind ]]; then
        found=("${(@f)$(throughline complete "$kind" "${words[CURRENT]}" 2>/dev/null)}")
        found=("${found[@]/$'\t'/:}")
        _describe "$kind" found
    else
        _throughline "$@"
    fi
}
compdef _throughline_dynamic throughline
