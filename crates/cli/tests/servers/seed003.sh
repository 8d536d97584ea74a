# The agent of seed 003: an MCP server that speaks the seed's bytes and nothing newer.
#
# $1 is the file that everything received is appended to. It writes the files of a spec, so that
# phases go on. What it does is chosen by the description: "slow" never ends by itself, "broken"
# fails once with -32000. Planning asks the client's model if the spec's name has "ask" in it.
log=$1
broken=yes

say() { printf '%s\n' "$1"; }
hear() { IFS= read -r line || exit 0; printf '%s\n' "$line" >>"$log"; }
# The first value of a key in the line, as it is written.
value() { printf '%s\n' "$line" | sed -n 's/.*"'"$1"'":\("\([^"]*\)"\|[0-9]*\).*/\1/p' | tr -d '"'; }
answer() { say '{"jsonrpc":"2.0","id":'"$id"',"result":{"content":[{"type":"text","text":"'"$1"'"}],"isError":false}}'; }
progress() { say '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"tool-'"$id"'","progress":'"$1"',"total":100,"message":"'"$2"'"}}'; }
tool() { printf '{"name":"%s","description":"%s","inputSchema":{"type":"object","properties":{"feature_description":{"type":"string"},"spec_directory":{"type":"string"},"task_filter":{"type":"string"},"questions":{"type":"array","items":{"type":"string"}}},"required":["spec_directory"]}}' "$1" "$2"; }

while hear; do
    id=$(printf '%s\n' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    case $line in
    *'"method":"initialize"'*)
        say '{"jsonrpc":"2.0","id":'"$id"',"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"claude-code","version":"1.0.0"}}}' ;;
    *'"method":"tools/list"'*)
        say '{"jsonrpc":"2.0","id":'"$id"',"result":{"tools":['"$(tool speckit.specify 'Create or update feature specification')"','"$(tool speckit.clarify 'Clarify')"','"$(tool speckit.plan 'Generate implementation plan')"','"$(tool speckit.tasks 'Tasks')"','"$(tool speckit.implement 'Implement')"']}}' ;;
    *'"method":"tools/call"'*)
        folder=$(value spec_directory)
        case $line in
        *speckit.specify*slow*)
            progress 50 'Analyzing requirements...'
            waiting=$id ;;
        *speckit.specify*broken*)
            if [ $broken = yes ]; then
                broken=no
                say '{"jsonrpc":"2.0","id":'"$id"',"error":{"code":-32000,"message":"the model is overloaded"}}'
            else
                mkdir -p "$folder" && printf '# Feature Specification: Mended\n' >"$folder/spec.md"
                answer "Specification created successfully at $folder/spec.md"
            fi ;;
        *speckit.specify*)
            progress 50 'Analyzing requirements...'
            echo 'agent: writing' >&2
            mkdir -p "$folder" && printf '# Feature Specification: Foreign\n\n**Feature Branch**: `foreign`\n' >"$folder/spec.md"
            answer "Specification created successfully at $folder/spec.md" ;;
        *speckit.clarify*)
            answer 'Nothing is open' ;;
        *speckit.plan*)
            call=$id
            said=
            case $folder in
            *ask*)
                say '{"jsonrpc":"2.0","id":"s1","method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"Which language?"}}],"maxTokens":100}}'
                hear
                id=$call
                said=$(value text) ;;
            esac
            printf '# Implementation Plan\n\n%s\n' "$said" >"$folder/plan.md"
            answer "Plan created at $folder/plan.md" ;;
        *speckit.tasks*)
            printf -- '- [ ] T001 Make a.txt\n- [ ] T002 Make b.txt\n' >"$folder/tasks.md"
            answer 'Tasks created' ;;
        *speckit.implement*)
            sed 's/\[ \]/[X]/' "$folder/tasks.md" >"$folder/tasks.new" && mv "$folder/tasks.new" "$folder/tasks.md"
            progress 100 'T002 done'
            answer 'Implemented 2 tasks' ;;
        esac ;;
    *'"method":"$/cancelRequest"'*)
        say '{"jsonrpc":"2.0","id":'"${waiting:-0}"',"error":{"code":-32002,"message":"Operation was cancelled"}}' ;;
    *'"method":"shutdown"'*)
        say '{"jsonrpc":"2.0","id":'"$id"',"result":null}' ;;
    *'"method":"exit"'*)
        exit 0 ;;
    *'"id":'*'"method":'* | *'"method":'*'"id":'*)
        say '{"jsonrpc":"2.0","id":'"$id"',"error":{"code":-32601,"message":"Method not found"}}' ;;
    esac
done
