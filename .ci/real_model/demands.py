"""What a model that talks nonsense is held to, so that it does its part of a story.

The server takes a grammar, or a call that must be made, with the request, and the
model's own choice is among what these leave. So its streams, its calls and their
arguments are those of the server, and the words are ours.
"""

# The whole choice of arguments for the one call that is wanted.
ORDER = {"order": "A-1042", "amount_cents": 12900}


def a_refund(request):
    """Triage says so, the clerk calls `refund` once, and all others say a sentence."""
    tools = {tool["function"]["name"]: tool["function"] for tool in request.get("tools", [])}
    system = request["messages"][0]["content"]
    if "refund" in tools and request["messages"][-1]["role"] == "user":
        tools["refund"]["parameters"] = {
            "type": "object",
            "required": list(ORDER),
            "additionalProperties": False,
            "properties": {name: {"enum": [value]} for name, value in ORDER.items()},
        }
        only = {"type": "function", "function": tools["refund"]}
        return request | {"tools": [only], "tool_choice": "required"}
    words = "refund" if "Triage" in str(system) else "It is done, and you will hear from us."
    request.pop("tools", None)
    return request | {"grammar": f'root ::= "{words}"'}
