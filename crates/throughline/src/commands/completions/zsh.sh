
# Ids, workspaces, agents and tags come from the store.
_throughline_dynamic() {
    local kind="" command="" i
    local -a found
    case "${words[CURRENT-1]}" in
        --workspace) kind=workspaces ;;
        --agent | --to | --in | --flavor) kind=agents ;;
        --tag | --session-tag) kind=tags ;;
        --session | --raw) kind=sessions ;;
    esac
    if [[ -z $kind && ${words[CURRENT]} != -* ]]; then
        # The options of all commands may stand before the command.
        for (( i = 2; i < CURRENT; i++ )); do
            case "${words[i]}" in
                --home | --config | --color) (( i++ )) ;;
                -*) ;;
                *) command="${words[i]}"; break ;;
            esac
        done
        case "$command" in
            # The first word behind `tag` is a session, the others are tags.
            tag) (( CURRENT > i + 1 )) && kind=tags || kind=sessions ;;
            {commands}) kind=sessions ;;
            install | uninstall) kind=agents ;;
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
# In a folder of $fpath the script runs at the first Tab, and must complete that one too.
compdef _throughline_dynamic throughline
if [ "$funcstack[1]" = "_throughline" ]; then
    _throughline_dynamic "$@"
fi
