#!/usr/bin/env python3
"""A stand-in for the models that coding agents talk to, on loopback. It says one sentence to everything, streamed as each
vendor streams it, and writes every request to a file, one JSON object a line.

    model.py PORT LOG

Anthropic /v1/messages, OpenAI /responses and /chat/completions, Gemini :streamGenerateContent and :generateContent. A prompt
that holds [[tool {"argument": "value"}]] makes it call that tool once.
"""
import itertools
import json
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SAID = "Noted: that is all there is to say."
# Claude Code takes answers with the same id for parts of one message.
NUMBERS = itertools.count(1)
CALL = re.compile(r"\[\[(\w+) (\{.*?\})\]\]")


def wanted_call(body):
    """The call that the conversation asks for, unless it was made already."""
    text = json.dumps(body.get("messages") or body.get("input") or body.get("contents") or "", ensure_ascii=False)
    is_done = any(mark in text for mark in ('"tool_use"', '"tool_calls"', '"function_call"', '"functionCall"'))
    for found in () if is_done else CALL.finditer(text.replace('\\"', '"')):
        try:
            return found[1], json.loads(found[2])
        except ValueError:
            pass  # Memory may quote an earlier prompt in part, or with escapes of its own.
    return None


def anthropic(body, call):
    usage = {"input_tokens": 10, "output_tokens": 5}
    number = next(NUMBERS)
    message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": body.get("model"), "content": [],
               "stop_reason": None, "stop_sequence": None, "usage": usage}
    if call:
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": call[0], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
        stop = "tool_use"
    else:
        block, delta, stop = {"type": "text", "text": ""}, {"type": "text_delta", "text": SAID}, "end_turn"
    if not body.get("stream"):
        whole = {**block, "input": call[1]} if call else {"type": "text", "text": SAID}
        return {**message, "content": [whole], "stop_reason": stop}
    return [("message_start", {"message": message}),
            ("content_block_start", {"index": 0, "content_block": block}),
            ("content_block_delta", {"index": 0, "delta": delta}),
            ("content_block_stop", {"index": 0}),
            ("message_delta", {"delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage}),
            ("message_stop", {})]


def responses(body, call):
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15, "input_tokens_details": {"cached_tokens": 0},
             "output_tokens_details": {"reasoning_tokens": 0}}
    base = {"id": "resp_1", "object": "response", "created_at": 0, "model": body.get("model"), "output": []}
    if call:
        item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": call[0], "arguments": json.dumps(call[1]),
                "status": "completed"}
        middle = []
    else:
        part = {"type": "output_text", "text": SAID, "annotations": []}
        item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}
        at = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
        middle = [("response.output_text.delta", {**at, "delta": SAID}), ("response.output_text.done", {**at, "text": SAID})]
    done = {**base, "status": "completed", "output": [item], "usage": usage}
    if not body.get("stream"):
        return done
    return [("response.created", {"response": {**base, "status": "in_progress"}}),
            ("response.output_item.added", {"output_index": 0, "item": {**item, "content": []} if not call else item}),
            *middle,
            ("response.output_item.done", {"output_index": 0, "item": item}),
            ("response.completed", {"response": done})]


def chat(body, call):
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    base = {"id": "chat_1", "created": 0, "model": body.get("model")}
    said = {"role": "assistant", "content": SAID}
    if call:
        function = {"name": call[0], "arguments": json.dumps(call[1])}
        said = {"role": "assistant", "content": None,
                "tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]}
    stop = "tool_calls" if call else "stop"
    if not body.get("stream"):
        choice = {"index": 0, "message": said, "finish_reason": stop}
        return {**base, "object": "chat.completion", "choices": [choice], "usage": usage}
    piece = {**base, "object": "chat.completion.chunk"}
    return [(None, {**piece, "choices": [{"index": 0, "delta": said, "finish_reason": None}]}),
            (None, {**piece, "choices": [{"index": 0, "delta": {}, "finish_reason": stop}]}),
            (None, {**piece, "choices": [], "usage": usage}),
            (None, "[DONE]")]


def gemini(body, call, streamed):
    part = {"functionCall": {"name": call[0], "args": call[1]}} if call else {"text": SAID}
    answer = {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
              "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}}
    return [(None, answer)] if streamed else answer


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.reply({})

    def do_GET(self):
        self.reply({"object": "list", "data": [], "models": []})

    def do_POST(self):
        body = self.body()
        with open(sys.argv[2], "a", encoding="utf-8") as log:
            log.write(json.dumps({"path": self.path, "body": body}, ensure_ascii=False) + "\n")
        path = self.path.split("?")[0]
        call = wanted_call(body)
        if path.endswith(("count_tokens", ":countTokens")):
            self.reply({"input_tokens": 10, "totalTokens": 10})
        elif path.endswith("/messages"):
            self.reply(anthropic(body, call))
        elif path.endswith("/responses"):
            self.reply(responses(body, call))
        elif path.endswith("/chat/completions"):
            self.reply(chat(body, call))
        elif "generateContent" in path or "GenerateContent" in path:
            self.reply(gemini(body, call, "stream" in path))
        else:
            self.reply({})

    def body(self):
        raw = b""
        if "chunked" in self.headers.get("transfer-encoding", ""):
            while size := int(self.rfile.readline().split(b";")[0], 16):
                raw += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            return json.loads(raw)
        except ValueError:
            return {}

    def reply(self, answer):
        if isinstance(answer, dict):
            raw, kind = json.dumps(answer).encode(), "application/json"
        else:
            raw, kind = b"".join(self.event(*event) for event in answer), "text/event-stream"
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(raw)

    @staticmethod
    def event(name, data):
        if isinstance(data, dict) and name:
            data = {"type": name, **data}
        text = data if isinstance(data, str) else json.dumps(data)
        head = f"event: {name}\n" if name else ""
        return f"{head}data: {text}\n\n".encode()


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Model).serve_forever()
