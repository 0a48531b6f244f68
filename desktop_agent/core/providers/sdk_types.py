"""The types of request bodies, as the vendors' SDKs declare them. At run time this module is empty.

Only type checkers read the SDKs, because importing one takes a second. Write the names from here in quotes.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Literal, TypedDict

    from anthropic import types as anthropic
    from anthropic.types.message_create_params import MessageCreateParamsStreaming
    from openai.types import chat, responses, shared_params
    from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
    from openai.types.responses.response_create_params import ResponseCreateParamsStreaming

    AnthropicBody = MessageCreateParamsStreaming
    AnthropicMessage = anthropic.MessageParam
    AnthropicBlock = anthropic.ContentBlockParam
    AnthropicText = anthropic.TextBlockParam
    AnthropicCitation = anthropic.CitationWebSearchResultLocationParam
    AnthropicPicture = anthropic.ImageBlockParam
    AnthropicSource = anthropic.Base64ImageSourceParam
    AnthropicResult = anthropic.ToolResultBlockParam
    AnthropicTool = anthropic.ToolParam
    AnthropicSearch = anthropic.WebSearchTool20250305Param
    AnthropicMark = anthropic.CacheControlEphemeralParam
    AnthropicOutput = anthropic.OutputConfigParam

    Effort = shared_params.ReasoningEffort

    ResponsesBody = ResponseCreateParamsStreaming
    ResponsesItem = responses.ResponseInputItemParam
    ResponsesMessage = responses.EasyInputMessageParam
    ResponsesPhase = Literal["commentary", "final_answer"]
    ResponsesPart = responses.ResponseInputContentParam
    ResponsesOutput = responses.ResponseFunctionCallOutputItemListParam
    ResponsesReasoning = shared_params.Reasoning
    ResponsesTool = responses.FunctionToolParam
    ResponsesSearch = responses.WebSearchToolParam

    class ChatText(chat.ChatCompletionContentPartTextParam, total=False):
        cache_control: AnthropicMark  # OpenRouter

    class ChatAssistant(chat.ChatCompletionAssistantMessageParam, total=False):
        reasoning_content: str  # DeepSeek, llama.cpp
        reasoning: str  # OpenRouter, Ollama, Groq
        reasoning_details: list[object]  # OpenRouter

    class ChatEffort(TypedDict):
        effort: str

    class ChatBody(CompletionCreateParamsStreaming, total=False):
        reasoning: ChatEffort  # OpenRouter

    ChatMessage = (
        chat.ChatCompletionSystemMessageParam
        | chat.ChatCompletionUserMessageParam
        | ChatAssistant
        | chat.ChatCompletionToolMessageParam
    )
    ChatPart = ChatText | chat.ChatCompletionContentPartImageParam
    ChatCall = chat.ChatCompletionMessageFunctionToolCallParam
    ChatTool = chat.ChatCompletionFunctionToolParam
