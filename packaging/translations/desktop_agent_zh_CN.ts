<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="zh_CN" sourcelanguage="en">
<context>
    <name>AccountActions</name>
    <message>
        <source>No account can be used until this is fixed: {0}</source>
        <translation>修复之前不使用任何账户：{0}</translation>
    </message>
    <message>
        <source>Asking {0}…</source>
        <translation>正在询问 {0}…</translation>
    </message>
    <message>
        <source>No model has been asked yet.</source>
        <translation>尚未向任何模型发出请求。</translation>
    </message>
    <message>
        <source>Preparing the sign-in…</source>
        <translation>正在准备登录…</translation>
    </message>
    <message>
        <source>Removing the key…</source>
        <translation>正在移除密钥…</translation>
    </message>
    <message>
        <source>Saving the key…</source>
        <translation>正在保存密钥…</translation>
    </message>
    <message>
        <source>The key is kept in the system keyring.</source>
        <translation>密钥已保存在系统密钥环中。</translation>
    </message>
    <message>
        <source>The key was removed.</source>
        <translation>密钥已移除。</translation>
    </message>
    <message>
        <source>The key works.</source>
        <translation>密钥有效。</translation>
    </message>
    <message>
        <source>You are signed in, and {0} answers.</source>
        <translation>您已登录，{0} 有响应。</translation>
    </message>
    <message>
        <source>{0} answers.</source>
        <translation>{0} 有响应。</translation>
    </message>
</context>
<context>
    <name>AccountChooser</name>
    <message>
        <source>Account</source>
        <translation>账户</translation>
    </message>
    <message>
        <source>Add an account</source>
        <translation>添加账户</translation>
    </message>
    <message>
        <source>Add…</source>
        <translation>添加…</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>移除</translation>
    </message>
    <message>
        <source>Remove this account</source>
        <translation>移除此账户</translation>
    </message>
    <message>
        <source>Remove with its key</source>
        <translation>连同密钥一起移除</translation>
    </message>
    <message>
        <source>Sign out</source>
        <translation>退出登录</translation>
    </message>
    <message>
        <source>Sign out now</source>
        <translation>立即退出登录</translation>
    </message>
    <message>
        <source>The account “{0}” no longer exists. Choose another one, or add it again.</source>
        <translation>账户“{0}”已不存在。请选择其他账户，或重新添加。</translation>
    </message>
</context>
<context>
    <name>AccountFields</name>
    <message>
        <source>Address of the account</source>
        <translation>账户地址</translation>
    </message>
    <message>
        <source>For example: work</source>
        <translation>例如：工作</translation>
    </message>
    <message>
        <source>Give the account a name.</source>
        <translation>请为账户命名。</translation>
    </message>
    <message>
        <source>How the key is sent</source>
        <translation>密钥的传送方式</translation>
    </message>
    <message>
        <source>Name of the account</source>
        <translation>账户名称</translation>
    </message>
    <message>
        <source>No key is needed</source>
        <translation>不需要密钥</translation>
    </message>
    <message>
        <source>The account cannot be used: {0}.</source>
        <translation>无法使用该账户：{0}。</translation>
    </message>
    <message>
        <source>An account with this name already exists.</source>
        <translation>已有同名账户。</translation>
    </message>
</context>
<context>
    <name>AccountForm</name>
    <message>
        <source>Add account</source>
        <translation>添加账户</translation>
    </message>
    <message>
        <source>Address</source>
        <translation>地址</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>The key is sent to this address only. Leave it empty for the provider&apos;s own.</source>
        <translation>其密钥只发送到此地址。留空：使用提供商的地址。</translation>
    </message>
    <message>
        <source>Key sent as</source>
        <translation>密钥发送方式</translation>
    </message>
    <message>
        <source>Name</source>
        <translation>名称</translation>
    </message>
    <message>
        <source>New account of {0}</source>
        <translation>{0} 的新账户</translation>
    </message>
</context>
<context>
    <name>Accounts</name>
    <message>
        <source>Requests go to {0}, signed in as you. Removing the account signs you out.</source>
        <translation>请求以登录者的身份发送到 {0}。移除账户即退出登录。</translation>
    </message>
    <message>
        <source>Requests go to {0}, with its API key. The key is sent nowhere else.</source>
        <translation>请求发送到 {0}，附带其 API 密钥。密钥不会发送到其他地方。</translation>
    </message>
    <message>
        <source>Requests go to {0}. No key is needed there.</source>
        <translation>请求发送到 {0}。那里不需要密钥。</translation>
    </message>
    <message>
        <source>Default</source>
        <translation>默认</translation>
    </message>
    <message>
        <source>Requests go to {0}, with a profile of the provider&apos;s own tools, which store the tokens.</source>
        <translation>请求使用提供商自己工具的配置文件发送到 {0}，令牌由这些工具保存。</translation>
    </message>
    <message>
        <source>Requests go to {0}, with credentials that the cloud&apos;s own tools store.</source>
        <translation>请求发送到 {0}，使用云自带工具保管的凭据。</translation>
    </message>
    <message>
        <source>as the environment says</source>
        <translation>由环境变量决定</translation>
    </message>
    <message>
        <source>profile</source>
        <translation>配置文件</translation>
    </message>
    <message>
        <source>signed in</source>
        <translation>已登录</translation>
    </message>
    <message>
        <source>{0} (from the environment variable {1})</source>
        <translation>{0}（来自环境变量 {1}）</translation>
    </message>
    <message>
        <source>{0} (from the settings)</source>
        <translation>{0}（来自设置）</translation>
    </message>
    <message>
        <source>{0} (the account&apos;s own address)</source>
        <translation>{0}（账户自己的地址）</translation>
    </message>
    <message>
        <source>{0}, through the proxy {1} (from {2})</source>
        <translation>{0}，经由代理 {1}（来自 {2}）</translation>
    </message>
</context>
<context>
    <name>Actions</name>
    <message>
        <source>Attach the output of the terminal</source>
        <translation>附加终端输出</translation>
    </message>
    <message>
        <source>Background work</source>
        <translation>后台工作</translation>
    </message>
    <message>
        <source>Branches…</source>
        <translation>分支…</translation>
    </message>
    <message>
        <source>Bring the worktree&apos;s changes back…</source>
        <translation>取回工作树的更改…</translation>
    </message>
    <message>
        <source>Carry out the plan</source>
        <translation>执行计划</translation>
    </message>
    <message>
        <source>Carry out the plan in a worktree</source>
        <translation>在工作树中执行计划</translation>
    </message>
    <message>
        <source>Choose a model…</source>
        <translation>选择模型…</translation>
    </message>
    <message>
        <source>Choose which changes to review…</source>
        <translation>选择要审阅的更改…</translation>
    </message>
    <message>
        <source>Command palette…</source>
        <translation>命令面板…</translation>
    </message>
    <message>
        <source>Commit what you keep…</source>
        <translation>提交保留的更改…</translation>
    </message>
    <message>
        <source>Compare variants…</source>
        <translation>比较方案…</translation>
    </message>
    <message>
        <source>Export the conversation…</source>
        <translation>导出对话…</translation>
    </message>
    <message>
        <source>Filter the files</source>
        <translation>筛选文件</translation>
    </message>
    <message>
        <source>Find in the conversation</source>
        <translation>在对话中查找</translation>
    </message>
    <message>
        <source>Go back to before a message…</source>
        <translation>回到某条消息之前…</translation>
    </message>
    <message>
        <source>Go to file…</source>
        <translation>转到文件…</translation>
    </message>
    <message>
        <source>Go to the next undecided change</source>
        <translation>转到下一处未决定的更改</translation>
    </message>
    <message>
        <source>Go to the previous undecided change</source>
        <translation>转到上一处未决定的更改</translation>
    </message>
    <message>
        <source>Import a conversation…</source>
        <translation>导入对话…</translation>
    </message>
    <message>
        <source>Inbox</source>
        <translation>收件箱</translation>
    </message>
    <message>
        <source>Keep everything listed in the review</source>
        <translation>保留审阅中列出的全部内容</translation>
    </message>
    <message>
        <source>Keep the file in review</source>
        <translation>保留审阅中的文件</translation>
    </message>
    <message>
        <source>Keyboard shortcuts…</source>
        <translation>键盘快捷键…</translation>
    </message>
    <message>
        <source>New session</source>
        <translation>新会话</translation>
    </message>
    <message>
        <source>New session in a worktree…</source>
        <translation>在工作树中新建会话…</translation>
    </message>
    <message>
        <source>New window</source>
        <translation>新窗口</translation>
    </message>
    <message>
        <source>Next session</source>
        <translation>下一个会话</translation>
    </message>
    <message>
        <source>Open folder…</source>
        <translation>打开文件夹…</translation>
    </message>
    <message>
        <source>Plan first, or stop planning</source>
        <translation>先制定计划，或停止计划</translation>
    </message>
    <message>
        <source>Plan…</source>
        <translation>计划…</translation>
    </message>
    <message>
        <source>Previous session</source>
        <translation>上一个会话</translation>
    </message>
    <message>
        <source>Quit</source>
        <translation>退出</translation>
    </message>
    <message>
        <source>Quote the selection, or the last answer</source>
        <translation>引用所选内容或上一个回答</translation>
    </message>
    <message>
        <source>Redo the last undo</source>
        <translation>重做上次撤销的内容</translation>
    </message>
    <message>
        <source>Review</source>
        <translation>审阅</translation>
    </message>
    <message>
        <source>Review in the whole window</source>
        <translation>在整个窗口中审阅</translation>
    </message>
    <message>
        <source>Search all sessions…</source>
        <translation>搜索所有会话…</translation>
    </message>
    <message>
        <source>Send the comments of the review…</source>
        <translation>发送审阅的评论…</translation>
    </message>
    <message>
        <source>Sessions and files</source>
        <translation>会话和文件</translation>
    </message>
    <message>
        <source>Settings…</source>
        <translation>设置…</translation>
    </message>
    <message>
        <source>Stop the agent</source>
        <translation>停止代理</translation>
    </message>
    <message>
        <source>Summarise older turns for the agent</source>
        <translation>为代理总结较早的轮次</translation>
    </message>
    <message>
        <source>Terminal</source>
        <translation>终端</translation>
    </message>
    <message>
        <source>Try the demo</source>
        <translation>试用演示</translation>
    </message>
    <message>
        <source>Try with…</source>
        <translation>用多个模型尝试…</translation>
    </message>
    <message>
        <source>Undo the agent&apos;s turn</source>
        <translation>撤销代理的本轮更改</translation>
    </message>
    <message>
        <source>Undo the file in review</source>
        <translation>撤销审阅中的文件</translation>
    </message>
    <message>
        <source>Undo the last commit</source>
        <translation>撤销最近一次提交</translation>
    </message>
    <message>
        <source>Usage…</source>
        <translation>用量…</translation>
    </message>
    <message>
        <source>What is new…</source>
        <translation>新增内容…</translation>
    </message>
    <message>
        <source>What the model sees…</source>
        <translation>模型看到的内容…</translation>
    </message>
    <message>
        <source>Worktrees…</source>
        <translation>工作树…</translation>
    </message>
    <message>
        <source>Write a message</source>
        <translation>写消息</translation>
    </message>
</context>
<context>
    <name>ActivityLine</name>
    <message>
        <source>Working…</source>
        <translation>正在工作…</translation>
    </message>
</context>
<context>
    <name>AddressEditor</name>
    <message>
        <source>Address</source>
        <translation>地址</translation>
    </message>
    <message>
        <source>Not encrypted: anyone on the way can read the key and the conversation.</source>
        <translation>未加密：传输途中的任何人都能读取密钥和对话。</translation>
    </message>
    <message>
        <source>Only for a gateway or proxy; empty means the provider&apos;s own.</source>
        <translation>仅用于网关或代理；留空则使用提供商的地址。</translation>
    </message>
    <message>
        <source>Set by the account. For a different address, add another account.</source>
        <translation>账户自己的地址。如需其他地址，请添加另一个账户。</translation>
    </message>
    <message>
        <source>This address cannot be used: {0}.</source>
        <translation>无法使用此地址：{0}。</translation>
    </message>
</context>
<context>
    <name>AddressFields</name>
    <message>
        <source>Another header</source>
        <translation>其他标头</translation>
    </message>
    <message>
        <source>Authorization</source>
        <translation>Authorization</translation>
    </message>
    <message>
        <source>Bearer …</source>
        <translation>Bearer …</translation>
    </message>
    <message>
        <source>Client ID</source>
        <translation>客户端 ID</translation>
    </message>
    <message>
        <source>Client ID at the server</source>
        <translation>服务器上的客户端 ID</translation>
    </message>
    <message>
        <source>Client secret</source>
        <translation>客户端密钥</translation>
    </message>
    <message>
        <source>Client secret at the server</source>
        <translation>服务器上的客户端密钥</translation>
    </message>
    <message>
        <source>Headers</source>
        <translation>标头</translation>
    </message>
    <message>
        <source>Headers that are secrets, and the client secret, go to the keyring of your system.</source>
        <translation>机密标头和客户端密钥会保存到系统密钥环。</translation>
    </message>
    <message>
        <source>Name of header {0}</source>
        <translation>标头 {0} 的名称</translation>
    </message>
    <message>
        <source>Only if you registered this application there by hand</source>
        <translation>仅当您在那里手动注册了此应用</translation>
    </message>
    <message>
        <source>Optional</source>
        <translation>可选</translation>
    </message>
    <message>
        <source>Value of header {0}</source>
        <translation>标头 {0} 的值</translation>
    </message>
    <message>
        <source>a header needs a name</source>
        <translation>标头需要名称</translation>
    </message>
</context>
<context>
    <name>AddressStep</name>
    <message>
        <source>API key</source>
        <translation>API 密钥</translation>
    </message>
    <message>
        <source>Address</source>
        <translation>地址</translation>
    </message>
    <message>
        <source>Anthropic&apos;s Messages</source>
        <translation>Anthropic 的 Messages</translation>
    </message>
    <message>
        <source>Chat Completions: most servers</source>
        <translation>Chat Completions：大多数服务器</translation>
    </message>
    <message>
        <source>Enter an address</source>
        <translation>输入地址</translation>
    </message>
    <message>
        <source>Format</source>
        <translation>格式</translation>
    </message>
    <message>
        <source>The key is sent to this address only. The connection is tested before anything is saved.</source>
        <translation>密钥只会发送到此地址。保存之前会先测试连接。</translation>
    </message>
    <message>
        <source>Key sent as</source>
        <translation>密钥发送方式</translation>
    </message>
    <message>
        <source>Name</source>
        <translation>名称</translation>
    </message>
    <message>
        <source>Not encrypted: anyone on the way can read the key and the conversation.</source>
        <translation>未加密：传输途中的任何人都能读取密钥和对话。</translation>
    </message>
    <message>
        <source>OpenAI&apos;s Responses</source>
        <translation>OpenAI 的 Responses</translation>
    </message>
    <message>
        <source>Test and continue</source>
        <translation>测试并继续</translation>
    </message>
</context>
<context>
    <name>AgentCard</name>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Edit…</source>
        <translation>编辑…</translation>
    </message>
    <message>
        <source>Remove the agent {0}</source>
        <translation>移除代理 {0}</translation>
    </message>
    <message>
        <source>Remove {0} from your settings?</source>
        <translation>从设置中移除 {0}？</translation>
    </message>
    <message>
        <source>Set up…</source>
        <translation>设置…</translation>
    </message>
    <message>
        <source>Sign in with {0}: {1}</source>
        <translation>登录 {0}：{1}</translation>
    </message>
    <message>
        <source>Sign in…</source>
        <translation>登录…</translation>
    </message>
    <message>
        <source>Test</source>
        <translation>测试</translation>
    </message>
</context>
<context>
    <name>AgentControl</name>
    <message>
        <source>It runs `{0}`.</source>
        <translation>它运行 `{0}`。</translation>
    </message>
    <message>
        <source>Signing in with {0}…</source>
        <translation>正在登录 {0}…</translation>
    </message>
    <message>
        <source>Imported from Zed: {0}.</source>
        <translation>已从 Zed 获取：{0}。</translation>
    </message>
    <message>
        <source>The sign-in ended with code {0}.</source>
        <translation>登录以代码 {0} 结束。</translation>
    </message>
    <message>
        <source>The test was interrupted.</source>
        <translation>测试已中断。</translation>
    </message>
    <message>
        <source>There is no terminal here.</source>
        <translation>此处没有终端。</translation>
    </message>
    <message>
        <source>You are signed in with {0}.</source>
        <translation>您已登录 {0}。</translation>
    </message>
    <message>
        <source>nothing new</source>
        <translation>没有新内容</translation>
    </message>
</context>
<context>
    <name>AgentForm</name>
    <message>
        <source>Add and test</source>
        <translation>添加并测试</translation>
    </message>
    <message>
        <source>An agent with this name already exists.</source>
        <translation>已有同名代理。</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Command</source>
        <translation>命令</translation>
    </message>
    <message>
        <source>Command line of the agent</source>
        <translation>代理的命令行</translation>
    </message>
    <message>
        <source>Edit {0}</source>
        <translation>编辑 {0}</translation>
    </message>
    <message>
        <source>For example: my-agent --acp</source>
        <translation>例如：my-agent --acp</translation>
    </message>
    <message>
        <source>For example: reviewer</source>
        <translation>例如：reviewer</translation>
    </message>
    <message>
        <source>Hosts that the agent may reach</source>
        <translation>代理可访问的主机</translation>
    </message>
    <message>
        <source>In the sandbox: writes none of your files</source>
        <translation>在沙盒中：不写入您的任何文件</translation>
    </message>
    <message>
        <source>In the sandbox: writes only the open folder</source>
        <translation>在沙盒中：只写入打开的文件夹</translation>
    </message>
    <message>
        <source>It can do everything that you can do. Add only what you trust.</source>
        <translation>它可以做您能做的一切。只添加您信任的代理。</translation>
    </message>
    <message>
        <source>It needs the hosts of its model. A sign-in in your home folder is hidden from it.</source>
        <translation>它需要访问其模型的主机。它看不到主文件夹中的登录信息。</translation>
    </message>
    <message>
        <source>May reach</source>
        <translation>可访问</translation>
    </message>
    <message>
        <source>Name</source>
        <translation>名称</translation>
    </message>
    <message>
        <source>Name of the agent</source>
        <translation>代理的名称</translation>
    </message>
    <message>
        <source>New agent</source>
        <translation>新代理</translation>
    </message>
    <message>
        <source>None. For example: api.example.org, *.example.org</source>
        <translation>无。例如：api.example.org、*.example.org</translation>
    </message>
    <message>
        <source>Outside the sandbox, as in your terminal</source>
        <translation>在沙盒之外，与在您的终端中一样</translation>
    </message>
    <message>
        <source>Sandbox</source>
        <translation>沙盒</translation>
    </message>
    <message>
        <source>Save and test</source>
        <translation>保存并测试</translation>
    </message>
    <message>
        <source>The agent cannot be added: {0}.</source>
        <translation>无法添加代理：{0}。</translation>
    </message>
</context>
<context>
    <name>AgentPickers</name>
    <message>
        <source>Option</source>
        <translation>选项</translation>
    </message>
    <message>
        <source>Options</source>
        <translation>选项</translation>
    </message>
</context>
<context>
    <name>AgentWords</name>
    <message>
        <source>It works: {0}</source>
        <translation>可用：{0}</translation>
    </message>
    <message>
        <source>Signing in. The agent may have opened your browser.</source>
        <translation>正在登录。代理可能已打开您的浏览器。</translation>
    </message>
    <message>
        <source>Starting…</source>
        <translation>正在启动…</translation>
    </message>
    <message>
        <source>Starts when you choose it. A test says whether it works.</source>
        <translation>在您选择它时启动。测试可说明它是否可用。</translation>
    </message>
    <message>
        <source>There is no program {0}.</source>
        <translation>没有程序 {0}。</translation>
    </message>
    <message>
        <source>modes: {0}</source>
        <translation>模式：{0}</translation>
    </message>
    <message>
        <source>supports {0}</source>
        <translation>支持{0}</translation>
    </message>
</context>
<context>
    <name>AgentsPage</name>
    <message>
        <source>Add agent…</source>
        <translation>添加代理…</translation>
    </message>
    <message>
        <source>Claude Code, Codex and other agents that speak the Agent Client Protocol work in sessions here, with the review and the undo of this program. Those that are installed are listed.</source>
        <translation>Claude Code、Codex 以及其他支持 Agent Client Protocol 的代理可在此处的会话中工作，并使用本程序的审查和撤销功能。已安装的代理会列出。</translation>
    </message>
    <message>
        <source>Not installed</source>
        <translation>未安装</translation>
    </message>
    <message>
        <source>Import from Zed</source>
        <translation>从 Zed 获取</translation>
    </message>
    <message>
        <source>Import the agents of Zed</source>
        <translation>获取 Zed 的代理</translation>
    </message>
</context>
<context>
    <name>AnswerButton</name>
    <message>
        <source>Answer the question that {0} is waiting for</source>
        <translation>回答 {0} 正在等待的问题</translation>
    </message>
    <message>
        <source>Answer…</source>
        <translation>回答…</translation>
    </message>
</context>
<context>
    <name>ApiKeyField</name>
    <message>
        <source>API key</source>
        <translation>API 密钥</translation>
    </message>
    <message>
        <source>Hide</source>
        <translation>隐藏</translation>
    </message>
    <message>
        <source>Paste a key</source>
        <translation>粘贴密钥</translation>
    </message>
    <message>
        <source>Show</source>
        <translation>显示</translation>
    </message>
    <message>
        <source>Show the key</source>
        <translation>显示密钥</translation>
    </message>
</context>
<context>
    <name>ApplyDialog</name>
    <message>
        <source>Apply to file</source>
        <translation>应用到文件</translation>
    </message>
    <message>
        <source>At the end</source>
        <translation>在末尾</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Choose a file</source>
        <translation>选择文件</translation>
    </message>
    <message>
        <source>File</source>
        <translation>文件</translation>
    </message>
    <message>
        <source>File, relative to the folder of the conversation</source>
        <translation>文件（相对于对话的文件夹）</translation>
    </message>
    <message>
        <source>Nothing to change</source>
        <translation>没有要更改的内容</translation>
    </message>
    <message>
        <source>The file already contains this.</source>
        <translation>文件内容已经如此。</translation>
    </message>
    <message>
        <source>The lines it matches</source>
        <translation>匹配的行</translation>
    </message>
    <message>
        <source>The file does not exist yet. It will be created.</source>
        <translation>尚无此文件：将会创建。</translation>
    </message>
    <message>
        <source>This counts as your change, and can be undone in the review.</source>
        <translation>这算作您的更改，可在审阅中撤销。</translation>
    </message>
    <message>
        <source>The change is shown here before it is written.</source>
        <translation>写入之前会在此显示将要更改的内容。</translation>
    </message>
    <message>
        <source>What the code replaces</source>
        <translation>代码所替换的内容</translation>
    </message>
    <message>
        <source>Whole file</source>
        <translation>整个文件</translation>
    </message>
    <message>
        <source>Write file</source>
        <translation>写入文件</translation>
    </message>
    <message>
        <source>src/example.py</source>
        <translation>src/example.py</translation>
    </message>
</context>
<context>
    <name>ApprovalCard</name>
    <message>
        <source>Run this command?</source>
        <translation>运行此命令？</translation>
    </message>
    <message>
        <source>Show the definition</source>
        <translation>显示定义</translation>
    </message>
    <message>
        <source>The server&apos;s description of the tool</source>
        <translation>服务器对该工具的描述</translation>
    </message>
    <message>
        <source>Why?</source>
        <translation>为什么？</translation>
    </message>
    <message>
        <source>in {folder}</source>
        <translation>位于 {folder}</translation>
    </message>
    <message>
        <source>Command</source>
        <translation>命令</translation>
    </message>
    <message>
        <source>Details</source>
        <translation>详情</translation>
    </message>
    <message>
        <source>Edit</source>
        <translation>编辑</translation>
    </message>
    <message>
        <source>Edit the command ({keys})</source>
        <translation>编辑命令 ({keys})</translation>
    </message>
    <message>
        <source>Go back to the agent&apos;s command</source>
        <translation>恢复为代理的命令</translation>
    </message>
    <message>
        <source>Hide reasons</source>
        <translation>隐藏原因</translation>
    </message>
    <message>
        <source>Hide the definition</source>
        <translation>隐藏定义</translation>
    </message>
    <message>
        <source>Proposed call</source>
        <translation>待批准的调用</translation>
    </message>
    <message>
        <source>Restore</source>
        <translation>还原</translation>
    </message>
    <message>
        <source>What changed</source>
        <translation>更改内容</translation>
    </message>
</context>
<context>
    <name>ApprovalDialog</name>
    <message>
        <source>Allow</source>
        <translation>允许</translation>
    </message>
    <message>
        <source>Approval</source>
        <translation>审批</translation>
    </message>
    <message>
        <source>Closing this leaves the question open in the conversation.</source>
        <translation>关闭后，该问题在对话中仍待回答。</translation>
    </message>
    <message>
        <source>Deny</source>
        <translation>拒绝</translation>
    </message>
    <message>
        <source>If you deny: why, or what to do instead</source>
        <translation>如果拒绝：原因，或应改做什么</translation>
    </message>
    <message>
        <source>Message to the agent if you deny</source>
        <translation>拒绝时给代理的消息</translation>
    </message>
    <message>
        <source>The rule is not valid yet. Correct it, or allow only once</source>
        <translation>尚无有效规则。请更正一条规则，或仅允许一次</translation>
    </message>
</context>
<context>
    <name>ApprovalRequest</name>
    <message>
        <source> … {0} more characters</source>
        <translation> …另有 {0} 个字符</translation>
    </message>
    <message numerus="yes">
        <source>%n files</source>
        <translation>
            <numerusform>%n 个文件</numerusform>
        </translation>
    </message>
    <message>
        <source>The agent says: {0}</source>
        <translation>代理说：{0}</translation>
    </message>
    <message>
        <source>The command contains invisible characters. It really is: {0}</source>
        <translation>命令含有不可见字符。实际为：{0}</translation>
    </message>
    <message>
        <source>The sub-agent “{0}” asks.</source>
        <translation>子代理“{0}”提问。</translation>
    </message>
    <message>
        <source>in the workspace</source>
        <translation>在工作区中</translation>
    </message>
    <message>
        <source>in {0}</source>
        <translation>位于 {0}</translation>
    </message>
    <message>
        <source>inside the workspace</source>
        <translation>工作区之内</translation>
    </message>
    <message>
        <source>outside the workspace</source>
        <translation>工作区之外</translation>
    </message>
</context>
<context>
    <name>ApprovalsPage</name>
    <message>
        <source>For new sessions. Each session can choose its own below the message field.</source>
        <translation>用于新会话。每个会话都可以在消息框下方另行选择。</translation>
    </message>
    <message>
        <source>Sandbox</source>
        <translation>沙盒</translation>
    </message>
    <message>
        <source>{0}: the project sets “{1}”, which applies here.</source>
        <translation>{0}：项目设置为“{1}”，在此生效。</translation>
    </message>
</context>
<context>
    <name>ArrangeButton</name>
    <message>
        <source>Folder</source>
        <translation>文件夹</translation>
    </message>
    <message>
        <source>Group by</source>
        <translation>分组依据</translation>
    </message>
    <message>
        <source>How sessions are listed</source>
        <translation>会话的列出方式</translation>
    </message>
    <message>
        <source>Show turns and cost</source>
        <translation>显示轮次和费用</translation>
    </message>
    <message>
        <source>State</source>
        <translation>状态</translation>
    </message>
    <message>
        <source>This folder first</source>
        <translation>此文件夹优先</translation>
    </message>
    <message>
        <source>Time</source>
        <translation>时间</translation>
    </message>
    <message>
        <source>View ▾</source>
        <translation>视图 ▾</translation>
    </message>
</context>
<context>
    <name>AttachedContents</name>
    <message>
        <source>and {count} more</source>
        <translation>以及另外 {count} 个</translation>
    </message>
</context>
<context>
    <name>Banner</name>
    <message>
        <source>Dismiss</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>Open another folder…</source>
        <translation>打开其他文件夹…</translation>
    </message>
</context>
<context>
    <name>BannerFrame</name>
    <message>
        <source>And {0} more.</source>
        <translation>还有 {0} 条。</translation>
    </message>
</context>
<context>
    <name>BaselineModel</name>
    <message>
        <source>Against a branch</source>
        <translation>与分支比较</translation>
    </message>
    <message>
        <source>Against the worktree&apos;s base</source>
        <translation>与工作树的基准比较</translation>
    </message>
    <message>
        <source>Against {0}</source>
        <translation>与 {0} 比较</translation>
    </message>
    <message>
        <source>Last turn</source>
        <translation>上一轮</translation>
    </message>
    <message>
        <source>Last turn ({0})</source>
        <translation>上一轮（{0}）</translation>
    </message>
    <message>
        <source>Looking…</source>
        <translation>正在查找…</translation>
    </message>
    <message>
        <source>No git repository</source>
        <translation>不是 git 存储库</translation>
    </message>
    <message>
        <source>Since message {0}</source>
        <translation>自第 {0} 条消息起</translation>
    </message>
    <message>
        <source>Since message {0}: {1}</source>
        <translation>自第 {0} 条消息起：{1}</translation>
    </message>
    <message>
        <source>There is no other branch</source>
        <translation>没有其他分支</translation>
    </message>
    <message>
        <source>This session</source>
        <translation>此会话</translation>
    </message>
    <message>
        <source>Turn {0}</source>
        <translation>第 {0} 轮</translation>
    </message>
    <message>
        <source>Turn {0}: {1}</source>
        <translation>第 {0} 轮：{1}</translation>
    </message>
    <message>
        <source>Uncommitted</source>
        <translation>未提交</translation>
    </message>
    <message>
        <source>git failed</source>
        <translation>git 失败</translation>
    </message>
    <message>
        <source>git is not installed</source>
        <translation>未安装 git</translation>
    </message>
    <message>
        <source>git took too long</source>
        <translation>git 耗时过长</translation>
    </message>
</context>
<context>
    <name>BaselinePicker</name>
    <message>
        <source>Changes to review</source>
        <translation>要审阅的更改</translation>
    </message>
</context>
<context>
    <name>BinaryView</name>
    <message>
        <source>After</source>
        <translation>更改后</translation>
    </message>
    <message>
        <source>BLAKE2</source>
        <translation>BLAKE2</translation>
    </message>
    <message>
        <source>Before</source>
        <translation>更改前</translation>
    </message>
    <message>
        <source>Bytes before and after</source>
        <translation>更改前后的字节</translation>
    </message>
    <message>
        <source>First bytes</source>
        <translation>开头字节</translation>
    </message>
    <message>
        <source>First difference at byte {0}</source>
        <translation>首个差异位于字节 {0}</translation>
    </message>
    <message>
        <source>Identical. First bytes</source>
        <translation>内容相同。开头字节</translation>
    </message>
    <message>
        <source>It is empty</source>
        <translation>为空</translation>
    </message>
    <message>
        <source>Size</source>
        <translation>大小</translation>
    </message>
    <message>
        <source>Type</source>
        <translation>类型</translation>
    </message>
</context>
<context>
    <name>BranchPopup</name>
    <message>
        <source>Branches</source>
        <translation>分支</translation>
    </message>
    <message>
        <source>New branch “{0}”</source>
        <translation>新建分支“{0}”</translation>
    </message>
    <message>
        <source>New branch…</source>
        <translation>新建分支…</translation>
    </message>
    <message>
        <source>Push…</source>
        <translation>推送…</translation>
    </message>
    <message>
        <source>Stop pushing</source>
        <translation>停止推送</translation>
    </message>
    <message>
        <source>Switch to a branch, or name a new one</source>
        <translation>切换到一个分支，或输入新分支的名称</translation>
    </message>
    <message>
        <source>Type the name of the new branch, and press Enter. It begins at what is checked out.</source>
        <translation>输入新分支的名称，然后按回车键。新分支从当前检出的提交开始。</translation>
    </message>
</context>
<context>
    <name>Branches</name>
    <message numerus="yes">
        <source>%n commits</source>
        <translation>
            <numerusform>%n 个提交</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n commits ahead</source>
        <translation>
            <numerusform>领先 %n 个提交</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n commits behind</source>
        <translation>
            <numerusform>落后 %n 个提交</numerusform>
        </translation>
    </message>
    <message>
        <source>No branch is checked out. You are at the commit {0}.</source>
        <translation>没有检出任何分支。当前位于提交 {0}。</translation>
    </message>
    <message>
        <source>Push</source>
        <translation>推送</translation>
    </message>
    <message>
        <source>Pushing {0} to {1}…</source>
        <translation>正在将 {0} 推送到 {1}…</translation>
    </message>
    <message>
        <source>Switching to {0}…</source>
        <translation>正在切换到 {0}…</translation>
    </message>
    <message>
        <source>The push was stopped. {0} may have the commits already.</source>
        <translation>推送已停止。{0} 可能已经收到这些提交。</translation>
    </message>
    <message>
        <source>checked out</source>
        <translation>已检出</translation>
    </message>
    <message>
        <source>nothing to push or pull</source>
        <translation>没有要推送或拉取的提交</translation>
    </message>
    <message>
        <source>{0} follows no branch of a remote.</source>
        <translation>{0} 没有跟踪任何远程分支。</translation>
    </message>
    <message>
        <source>{0} follows {1}: {2}</source>
        <translation>{0} 跟踪 {1}：{2}</translation>
    </message>
    <message>
        <source>{0} was pushed to {1}.</source>
        <translation>{0} 已推送到 {1}。</translation>
    </message>
    <message numerus="yes">
        <source>… and %n more</source>
        <translation>
            <numerusform>……以及另外 %n 个</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>BrowserWait</name>
    <message>
        <source>Sign-in address</source>
        <translation>登录地址</translation>
    </message>
    <message>
        <source>Copied</source>
        <translation>已复制</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>复制</translation>
    </message>
    <message>
        <source>Copy the address</source>
        <translation>复制地址</translation>
    </message>
    <message>
        <source>No browser could be opened.</source>
        <translation>无法打开浏览器。</translation>
    </message>
    <message>
        <source>Open this address in a browser on this machine, within 10 minutes:</source>
        <translation>请在 10 分钟内用本机浏览器打开此地址：</translation>
    </message>
    <message>
        <source>Sign in there within 10 minutes. If no browser opened, open this address:</source>
        <translation>请在 10 分钟内在那里登录。如果浏览器未打开，请打开此地址：</translation>
    </message>
    <message>
        <source>Waiting for the browser…</source>
        <translation>正在等待浏览器…</translation>
    </message>
</context>
<context>
    <name>CacheMiss</name>
    <message>
        <source>About {0} tokens of the last turn were not in the provider&apos;s cache: {1}.</source>
        <translation>上一轮约有 {0} 个 token 不在提供商的缓存中：{1}。</translation>
    </message>
    <message>
        <source>The last turn was not in the provider&apos;s cache: {0}.</source>
        <translation>上一轮不在提供商的缓存中：{0}。</translation>
    </message>
    <message>
        <source>an option of the request changed</source>
        <translation>请求的某个选项已更改</translation>
    </message>
    <message>
        <source>the provider does not say why, and keeps its cache only briefly</source>
        <translation>未说明原因，且不会长期保留</translation>
    </message>
    <message>
        <source>older turns were summarised</source>
        <translation>较早的轮次已总结</translation>
    </message>
    <message>
        <source>the earlier conversation changed</source>
        <translation>较早的对话已更改</translation>
    </message>
    <message>
        <source>the instructions changed</source>
        <translation>指令已更改</translation>
    </message>
    <message>
        <source>the model changed</source>
        <translation>模型已更改</translation>
    </message>
    <message>
        <source>the tools changed</source>
        <translation>工具已更改</translation>
    </message>
</context>
<context>
    <name>CallButtons</name>
    <message>
        <source>Recover</source>
        <translation>恢复</translation>
    </message>
    <message>
        <source>Recover. {what}</source>
        <translation>恢复。{what}</translation>
    </message>
    <message>
        <source>Show change</source>
        <translation>显示更改</translation>
    </message>
    <message>
        <source>Show change ▸</source>
        <translation>显示更改 ▸</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>停止</translation>
    </message>
    <message>
        <source>Stop this sub-agent</source>
        <translation>停止此子代理</translation>
    </message>
    <message>
        <source>Stop this turn</source>
        <translation>停止本轮</translation>
    </message>
</context>
<context>
    <name>CallList</name>
    <message>
        <source>Answered</source>
        <translation>已答复</translation>
    </message>
</context>
<context>
    <name>CardAnswers</name>
    <message>
        <source>Allow once</source>
        <translation>允许一次</translation>
    </message>
    <message>
        <source>Deny…</source>
        <translation>拒绝…</translation>
    </message>
    <message>
        <source>Review…</source>
        <translation>查看…</translation>
    </message>
    <message>
        <source>{keys} denies at once</source>
        <translation>{keys} 立即拒绝</translation>
    </message>
    <message>
        <source>Back</source>
        <translation>返回</translation>
    </message>
    <message>
        <source>Deny</source>
        <translation>拒绝</translation>
    </message>
    <message>
        <source>Message to the agent</source>
        <translation>给代理的消息</translation>
    </message>
    <message>
        <source>Reason for the agent (optional)</source>
        <translation>给代理的原因（可选）</translation>
    </message>
</context>
<context>
    <name>ChangeField</name>
    <message>
        <source>It cannot be allowed without being shown.</source>
        <translation>未显示的更改无法允许。</translation>
    </message>
    <message>
        <source>The change could not be shown</source>
        <translation>无法显示该更改</translation>
    </message>
    <message>
        <source>What would change</source>
        <translation>将更改的内容</translation>
    </message>
</context>
<context>
    <name>ChangeListing</name>
    <message numerus="yes">
        <source>%n lines added</source>
        <translation>
            <numerusform>添加 %n 行</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n lines removed</source>
        <translation>
            <numerusform>删除 %n 行</numerusform>
        </translation>
    </message>
    <message>
        <source>Filter by path</source>
        <translation>按路径筛选</translation>
    </message>
    <message>
        <source>Filter the files by path</source>
        <translation>按路径筛选文件</translation>
    </message>
    <message>
        <source>Looking…</source>
        <translation>正在查找…</translation>
    </message>
    <message>
        <source>No changed file matches.</source>
        <translation>没有匹配的已更改文件。</translation>
    </message>
    <message>
        <source>No differences: the files on disk are as committed.</source>
        <translation>没有差异：磁盘上的文件与提交一致。</translation>
    </message>
    <message>
        <source>Nothing changed here.</source>
        <translation>此处没有更改。</translation>
    </message>
    <message>
        <source>Show all files</source>
        <translation>显示所有文件</translation>
    </message>
</context>
<context>
    <name>ChangeModel</name>
    <message>
        <source>MCP</source>
        <translation>MCP</translation>
    </message>
    <message>
        <source>a server, or you</source>
        <translation>服务器或您</translation>
    </message>
    <message>
        <source>agent</source>
        <translation>代理</translation>
    </message>
    <message>
        <source>binary</source>
        <translation>二进制</translation>
    </message>
    <message>
        <source>deleted</source>
        <translation>已删除</translation>
    </message>
    <message>
        <source>folder</source>
        <translation>文件夹</translation>
    </message>
    <message>
        <source>in conflict</source>
        <translation>有冲突</translation>
    </message>
    <message>
        <source>kept</source>
        <translation>已保留</translation>
    </message>
    <message>
        <source>link</source>
        <translation>链接</translation>
    </message>
    <message>
        <source>named pipe</source>
        <translation>命名管道</translation>
    </message>
    <message>
        <source>new</source>
        <translation>新</translation>
    </message>
    <message>
        <source>not brought back</source>
        <translation>未取回</translation>
    </message>
    <message>
        <source>partly decided</source>
        <translation>部分已决定</translation>
    </message>
    <message>
        <source>renamed from {0}</source>
        <translation>由 {0} 重命名</translation>
    </message>
    <message>
        <source>shell</source>
        <translation>shell</translation>
    </message>
    <message>
        <source>socket</source>
        <translation>套接字</translation>
    </message>
    <message>
        <source>undecided</source>
        <translation>未决定</translation>
    </message>
    <message>
        <source>undone</source>
        <translation>已撤销</translation>
    </message>
    <message>
        <source>you</source>
        <translation>您</translation>
    </message>
    <message>
        <source>{0} added, {1} removed</source>
        <translation>添加 {0} 行，删除 {1} 行</translation>
    </message>
    <message numerus="yes">
        <source>{0} of %n changes decided</source>
        <translation>
            <numerusform>%n 处更改中已决定 {0} 处</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>ChangePreview</name>
    <message>
        <source>Files that would change</source>
        <translation>将被更改的文件</translation>
    </message>
    <message>
        <source>It cannot be allowed without being shown.</source>
        <translation>未显示的更改无法允许。</translation>
    </message>
    <message>
        <source>Loading…</source>
        <translation>正在加载…</translation>
    </message>
    <message>
        <source>The change could not be shown</source>
        <translation>无法显示该更改</translation>
    </message>
</context>
<context>
    <name>ChangedFileList</name>
    <message>
        <source>Bring this file back</source>
        <translation>取回此文件</translation>
    </message>
    <message>
        <source>Changed files</source>
        <translation>已更改的文件</translation>
    </message>
    <message>
        <source>Decide again</source>
        <translation>重新决定</translation>
    </message>
    <message>
        <source>Keep this file</source>
        <translation>保留此文件</translation>
    </message>
    <message>
        <source>Open file</source>
        <translation>打开文件</translation>
    </message>
    <message>
        <source>Redo this file</source>
        <translation>重做此文件</translation>
    </message>
    <message>
        <source>Show the call</source>
        <translation>显示调用</translation>
    </message>
    <message>
        <source>Undo this file</source>
        <translation>撤销此文件</translation>
    </message>
    <message>
        <source>Undo this file with a message to the agent…</source>
        <translation>撤销此文件并给代理留言…</translation>
    </message>
</context>
<context>
    <name>ChooseStep</name>
    <message>
        <source>Claude through AWS, Google or Microsoft</source>
        <translation>通过 AWS、Google 或 Microsoft 使用 Claude</translation>
    </message>
    <message>
        <source>Continue</source>
        <translation>继续</translation>
    </message>
    <message>
        <source>Enter a key…</source>
        <translation>输入密钥…</translation>
    </message>
    <message>
        <source>Enter an API key</source>
        <translation>输入 API 密钥</translation>
    </message>
    <message>
        <source>For Anthropic, OpenAI, OpenRouter or xAI. Kept in your system keyring, and nowhere else.</source>
        <translation>适用于 Anthropic、OpenAI、OpenRouter 或 xAI。只保存在系统密钥环中。</translation>
    </message>
    <message>
        <source>It needs no key here. What it changes can be reviewed and undone.</source>
        <translation>此处无需密钥。它的更改可以审阅和撤销。</translation>
    </message>
    <message>
        <source>Look for models…</source>
        <translation>查找模型…</translation>
    </message>
    <message>
        <source>No key, no network. A scripted model works on a small project with real tools.</source>
        <translation>无需密钥和网络。按脚本运行的模型用真实工具处理一个小项目。</translation>
    </message>
    <message>
        <source>OpenRouter or another address</source>
        <translation>OpenRouter 或其他地址</translation>
    </message>
    <message>
        <source>Sign in with OpenRouter, or enter the address of any compatible server.</source>
        <translation>用 OpenRouter 登录，或输入任何兼容服务器的地址。</translation>
    </message>
    <message>
        <source>Sign in with your ChatGPT plan, or use a profile of Anthropic&apos;s tools.</source>
        <translation>用您的 ChatGPT 套餐登录，或使用 Anthropic 工具的配置文件。</translation>
    </message>
    <message>
        <source>Start the demo</source>
        <translation>开始演示</translation>
    </message>
    <message>
        <source>Try the demo</source>
        <translation>试用演示</translation>
    </message>
    <message>
        <source>Use a model on this machine</source>
        <translation>使用本机上的模型</translation>
    </message>
    <message>
        <source>Use a subscription</source>
        <translation>使用订阅</translation>
    </message>
    <message>
        <source>Use this agent</source>
        <translation>使用此代理</translation>
    </message>
    <message>
        <source>Use {0}, which is installed</source>
        <translation>使用已安装的 {0}</translation>
    </message>
    <message>
        <source>Welcome. Choose a model</source>
        <translation>欢迎。请选择一个模型</translation>
    </message>
    <message>
        <source>With Ollama, LM Studio or llama.cpp. No key, and nothing leaves this machine.</source>
        <translation>使用 Ollama、LM Studio 或 llama.cpp。无需密钥，数据不离开本机。</translation>
    </message>
    <message>
        <source>With the credentials of the cloud&apos;s own tools, or with a key.</source>
        <translation>使用云自带工具的凭据，或使用密钥。</translation>
    </message>
    <message>
        <source>You can change this at any time in Settings.</source>
        <translation>您可以随时在设置中更改。</translation>
    </message>
</context>
<context>
    <name>ClashDialog</name>
    <message numerus="yes">
        <source>%n other files are done.</source>
        <translation>
            <numerusform>另外 %n 个文件已完成。</numerusform>
        </translation>
    </message>
    <message>
        <source>A server&apos;s, or yours</source>
        <translation>服务器或您的版本</translation>
    </message>
    <message>
        <source>After redo</source>
        <translation>重做之后</translation>
    </message>
    <message>
        <source>After undo</source>
        <translation>撤销之后</translation>
    </message>
    <message>
        <source>Agent&apos;s version</source>
        <translation>代理的版本</translation>
    </message>
    <message>
        <source>Another session&apos;s</source>
        <translation>另一个会话的版本</translation>
    </message>
    <message>
        <source>Both, disk version last</source>
        <translation>两者都要，现有的在后</translation>
    </message>
    <message>
        <source>Both, yours last</source>
        <translation>两者都要，您的在后</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>Files left alone</source>
        <translation>保留不动的文件</translation>
    </message>
    <message>
        <source>Keep disk version</source>
        <translation>保留现有的</translation>
    </message>
    <message>
        <source>Keep it as it is</source>
        <translation>保持原样</translation>
    </message>
    <message>
        <source>Keep mine</source>
        <translation>保留我的版本</translation>
    </message>
    <message>
        <source>Redo conflicts with {0}</source>
        <translation>重做与{0}冲突</translation>
    </message>
    <message>
        <source>Redo of turn {0}</source>
        <translation>第 {0} 轮的重做</translation>
    </message>
    <message>
        <source>Turn {0}</source>
        <translation>第 {0} 轮</translation>
    </message>
    <message>
        <source>Turns {0}</source>
        <translation>第 {0} 轮</translation>
    </message>
    <message>
        <source>Undo conflicts with {0}</source>
        <translation>撤销与{0}冲突</translation>
    </message>
    <message>
        <source>Undo of turn {0}</source>
        <translation>第 {0} 轮的撤销</translation>
    </message>
    <message>
        <source>Without the change</source>
        <translation>没有该更改</translation>
    </message>
    <message>
        <source>the result can be written once all clashes are decided</source>
        <translation>全部决定后才能写入结果</translation>
    </message>
    <message numerus="yes">
        <source>%n clashes are left to decide: numbers {0}.</source>
        <translation>
            <numerusform>还有 %n 处冲突待决定：第 {0} 处。</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n other places in the file merge without a clash.</source>
        <translation>
            <numerusform>其中另有 %n 处可无冲突合并。</numerusform>
        </translation>
    </message>
    <message>
        <source>A character does not fit the encoding of this file.</source>
        <translation>有字符不符合此文件的编码。</translation>
    </message>
    <message>
        <source>Keep yours</source>
        <translation>保留您的</translation>
    </message>
    <message>
        <source>Not redone</source>
        <translation>未重做</translation>
    </message>
    <message>
        <source>Not undone</source>
        <translation>未撤销</translation>
    </message>
    <message>
        <source>On disk</source>
        <translation>磁盘上</translation>
    </message>
    <message>
        <source>Reading the three versions…</source>
        <translation>正在读取三个版本…</translation>
    </message>
    <message>
        <source>Remove the file</source>
        <translation>移除文件</translation>
    </message>
    <message>
        <source>These files were not written.</source>
        <translation>这些文件未被写入。</translation>
    </message>
    <message>
        <source>Use the redone version</source>
        <translation>使用重做后的版本</translation>
    </message>
    <message>
        <source>Use the undone version</source>
        <translation>使用撤销后的版本</translation>
    </message>
    <message>
        <source>Write this result</source>
        <translation>写入此结果</translation>
    </message>
    <message>
        <source>Yours</source>
        <translation>您的版本</translation>
    </message>
    <message>
        <source>another session</source>
        <translation>另一个会话</translation>
    </message>
    <message>
        <source>changes by a server or by you</source>
        <translation>服务器或您所写的内容</translation>
    </message>
    <message>
        <source>kept as it is</source>
        <translation>保持原样</translation>
    </message>
    <message>
        <source>later changes</source>
        <translation>之后的更改</translation>
    </message>
    <message>
        <source>removed</source>
        <translation>已移除</translation>
    </message>
    <message>
        <source>the redo of turn {0}</source>
        <translation>第 {0} 轮的重做</translation>
    </message>
    <message>
        <source>the undo of turn {0}</source>
        <translation>第 {0} 轮的撤销</translation>
    </message>
    <message>
        <source>turn {0}</source>
        <translation>第 {0} 轮</translation>
    </message>
    <message>
        <source>turns {0}</source>
        <translation>第 {0} 轮</translation>
    </message>
    <message>
        <source>written</source>
        <translation>已写入</translation>
    </message>
    <message>
        <source>your edit</source>
        <translation>您的编辑</translation>
    </message>
    <message>
        <source>{0} (on disk)</source>
        <translation>{0}（磁盘上）</translation>
    </message>
    <message numerus="yes">
        <source>{0} of %n clashes decided</source>
        <translation>
            <numerusform>%n 处冲突中已决定 {0} 处</numerusform>
        </translation>
    </message>
    <message>
        <source>{0}. Nothing has been written to it.</source>
        <translation>{0}。未写入任何内容。</translation>
    </message>
</context>
<context>
    <name>ClashPage</name>
    <message>
        <source>Clash {0} of {1}</source>
        <translation>冲突 {0}/{1}</translation>
    </message>
    <message>
        <source>Next clash</source>
        <translation>下一个冲突</translation>
    </message>
    <message>
        <source>Next clash (F7)</source>
        <translation>下一个冲突 (F7)</translation>
    </message>
    <message>
        <source>Previous clash</source>
        <translation>上一个冲突</translation>
    </message>
    <message>
        <source>Previous clash (Shift+F7)</source>
        <translation>上一个冲突 (Shift+F7)</translation>
    </message>
    <message>
        <source>Result to be written</source>
        <translation>可写入的结果</translation>
    </message>
    <message>
        <source>Take the redo</source>
        <translation>采用重做</translation>
    </message>
    <message>
        <source>Take the undo</source>
        <translation>采用撤销</translation>
    </message>
    <message>
        <source>The result to be written</source>
        <translation>可写入的结果</translation>
    </message>
    <message>
        <source>The three versions</source>
        <translation>三个版本</translation>
    </message>
    <message>
        <source>edited by hand</source>
        <translation>手动编辑</translation>
    </message>
</context>
<context>
    <name>ClearableLine</name>
    <message>
        <source>Clear the text</source>
        <translation>清除文字</translation>
    </message>
</context>
<context>
    <name>CloudFields</name>
    <message>
        <source>A profile of the AWS tools. Empty: the default profile.</source>
        <translation>AWS 工具的配置文件。留空：默认配置文件。</translation>
    </message>
    <message>
        <source>An API key</source>
        <translation>API 密钥</translation>
    </message>
    <message>
        <source>As the Claude Console shows it.</source>
        <translation>与 Claude Console 中显示的一致。</translation>
    </message>
    <message>
        <source>Credentials</source>
        <translation>凭据</translation>
    </message>
    <message>
        <source>For example: {0}</source>
        <translation>例如：{0}</translation>
    </message>
    <message>
        <source>It is kept in your system keyring, and nowhere else.</source>
        <translation>它只保存在系统密钥环中。</translation>
    </message>
    <message>
        <source>Missing: {0}.</source>
        <translation>缺少：{0}。</translation>
    </message>
    <message>
        <source>Profile</source>
        <translation>配置文件</translation>
    </message>
    <message>
        <source>Project</source>
        <translation>项目</translation>
    </message>
    <message>
        <source>Region</source>
        <translation>区域</translation>
    </message>
    <message>
        <source>Resource</source>
        <translation>资源</translation>
    </message>
    <message>
        <source>The ID of the project that pays. Empty: the project of the sign-in.</source>
        <translation>付费项目的 ID。留空：登录所属的项目。</translation>
    </message>
    <message>
        <source>The account cannot be used: {0}.</source>
        <translation>无法使用该账户：{0}。</translation>
    </message>
    <message>
        <source>The first part of the address, before .services.ai.azure.com.</source>
        <translation>地址的第一部分，即 .services.ai.azure.com 之前的部分。</translation>
    </message>
    <message>
        <source>Those of the AWS tools</source>
        <translation>AWS 工具的凭据</translation>
    </message>
    <message>
        <source>Those of the Azure tools</source>
        <translation>Azure 工具的凭据</translation>
    </message>
    <message>
        <source>Those of the Google Cloud tools</source>
        <translation>Google Cloud 工具的凭据</translation>
    </message>
    <message>
        <source>Where you have access to Claude.</source>
        <translation>您有权访问 Claude 的区域。</translation>
    </message>
    <message>
        <source>Where you have access to Claude. Empty: the region of the profile.</source>
        <translation>您有权访问 Claude 的区域。留空：配置文件中的区域。</translation>
    </message>
    <message>
        <source>Workspace ID</source>
        <translation>工作区 ID</translation>
    </message>
</context>
<context>
    <name>CloudStep</name>
    <message>
        <source>API key</source>
        <translation>API 密钥</translation>
    </message>
    <message>
        <source>Check and continue</source>
        <translation>检查并继续</translation>
    </message>
    <message>
        <source>Claude through AWS, Google or Microsoft</source>
        <translation>通过 AWS、Google 或 Microsoft 使用 Claude</translation>
    </message>
    <message>
        <source>Cloud</source>
        <translation>云</translation>
    </message>
    <message>
        <source>Leave it empty to use the key in {0}.</source>
        <translation>留空则使用 {0} 中的密钥。</translation>
    </message>
    <message>
        <source>The check shows where requests go, and as whom. It asks no model, so it costs nothing.</source>
        <translation>检查会显示请求发往何处、以谁的身份发出。它不调用模型，因此不产生费用。</translation>
    </message>
</context>
<context>
    <name>CodeApplying</name>
    <message>
        <source>No folder is open</source>
        <translation>没有打开的文件夹</translation>
    </message>
    <message>
        <source>Open one first.</source>
        <translation>请先打开一个。</translation>
    </message>
    <message>
        <source>This conversation cannot be changed here.</source>
        <translation>无法在此更改此对话。</translation>
    </message>
</context>
<context>
    <name>ColumnPlot</name>
    <message>
        <source>price of {0} not known</source>
        <translation>{0} 的价格未知</translation>
    </message>
</context>
<context>
    <name>CommandEdit</name>
    <message>
        <source>Command</source>
        <translation>命令</translation>
    </message>
    <message>
        <source>Go back to the agent&apos;s command</source>
        <translation>恢复为代理的命令</translation>
    </message>
    <message>
        <source>Modified by you. The agent sees your change.</source>
        <translation>已由您修改。代理会看到您的修改。</translation>
    </message>
    <message>
        <source>Reason for the question: {0}</source>
        <translation>询问您的原因：{0}</translation>
    </message>
    <message>
        <source>Restore</source>
        <translation>还原</translation>
    </message>
</context>
<context>
    <name>CommandPalette</name>
    <message>
        <source>Begin with {0}</source>
        <translation>以 {0} 开头</translation>
    </message>
    <message>
        <source>Command palette</source>
        <translation>命令面板</translation>
    </message>
    <message>
        <source>Go to a file by parts of its path</source>
        <translation>输入路径的一部分转到文件</translation>
    </message>
    <message>
        <source>Search actions, settings, commands, sessions and files</source>
        <translation>搜索操作、设置、命令、会话和文件</translation>
    </message>
    <message>
        <source>Matches</source>
        <translation>匹配项</translation>
    </message>
    <message>
        <source>actions</source>
        <translation>操作</translation>
    </message>
    <message>
        <source>commands</source>
        <translation>命令</translation>
    </message>
    <message>
        <source>keys</source>
        <translation>按键</translation>
    </message>
    <message>
        <source>sessions</source>
        <translation>会话</translation>
    </message>
    <message>
        <source>settings</source>
        <translation>设置</translation>
    </message>
</context>
<context>
    <name>CommandPopup</name>
    <message>
        <source>Commands</source>
        <translation>命令</translation>
    </message>
</context>
<context>
    <name>CommandWidget</name>
    <message>
        <source>Command {text} failed: {output}</source>
        <translation>命令 {text} 失败：{output}</translation>
    </message>
    <message>
        <source>Command {text}: {output}</source>
        <translation>命令 {text}：{output}</translation>
    </message>
</context>
<context>
    <name>CommentCard</name>
    <message>
        <source>Edit</source>
        <translation>编辑</translation>
    </message>
    <message>
        <source>Edit the comment: {0}</source>
        <translation>编辑评论：{0}</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>移除</translation>
    </message>
    <message>
        <source>Remove the comment: {0}</source>
        <translation>移除评论：{0}</translation>
    </message>
    <message>
        <source>{0} · no longer there</source>
        <translation>{0} · 已不存在</translation>
    </message>
</context>
<context>
    <name>CommentEditor</name>
    <message>
        <source>Add comment</source>
        <translation>添加评论</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Cancel (Esc)</source>
        <translation>取消 (Esc)</translation>
    </message>
    <message>
        <source>Ctrl+Enter</source>
        <translation>Ctrl+Enter</translation>
    </message>
    <message>
        <source>Save</source>
        <translation>保存</translation>
    </message>
    <message>
        <source>Save the comment (Ctrl+Enter)</source>
        <translation>保存评论 (Ctrl+Enter)</translation>
    </message>
    <message>
        <source>What should be different?</source>
        <translation>应该怎样修改？</translation>
    </message>
</context>
<context>
    <name>CommentOverlay</name>
    <message>
        <source>Comment on this line, or drag over several</source>
        <translation>评论此行，或拖选多行</translation>
    </message>
</context>
<context>
    <name>CommentsDialog</name>
    <message numerus="yes">
        <source>%n comments</source>
        <translation>
            <numerusform>%n 条评论</numerusform>
        </translation>
    </message>
    <message>
        <source>, before</source>
        <translation>，更改前</translation>
    </message>
    <message>
        <source>Comments</source>
        <translation>评论</translation>
    </message>
    <message>
        <source>Introduction (optional)</source>
        <translation>引言（可选）</translation>
    </message>
    <message>
        <source>Introduction to the comments</source>
        <translation>评论的引言</translation>
    </message>
    <message>
        <source>Not now</source>
        <translation>暂不</translation>
    </message>
    <message>
        <source>Plan</source>
        <translation>计划</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>移除</translation>
    </message>
    <message>
        <source>Remove the comment on {0}</source>
        <translation>移除对 {0} 的评论</translation>
    </message>
    <message numerus="yes">
        <source>Send %n comments</source>
        <translation>
            <numerusform>发送 %n 条评论</numerusform>
        </translation>
    </message>
    <message>
        <source>Send comments</source>
        <translation>发送评论</translation>
    </message>
    <message>
        <source>The agent gets them as one message, with the lines they are about.</source>
        <translation>代理会以一条消息收到它们，并附上相关的行。</translation>
    </message>
    <message>
        <source>line {0}</source>
        <translation>第 {0} 行</translation>
    </message>
    <message>
        <source>lines {0}–{1}</source>
        <translation>第 {0}–{1} 行</translation>
    </message>
</context>
<context>
    <name>CommitSheet</name>
    <message numerus="yes">
        <source>%n changes are left out.</source>
        <translation>
            <numerusform>有 %n 处更改未包含在内。</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n files</source>
        <translation>
            <numerusform>%n 个文件</numerusform>
        </translation>
    </message>
    <message>
        <source>Add “{0}”</source>
        <translation>添加“{0}”</translation>
    </message>
    <message>
        <source>All</source>
        <translation>全部</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Commit</source>
        <translation>提交</translation>
    </message>
    <message>
        <source>Commit to {0}</source>
        <translation>提交到 {0}</translation>
    </message>
    <message>
        <source>Commit, on no branch</source>
        <translation>提交(不在任何分支上)</translation>
    </message>
    <message>
        <source>Committing…</source>
        <translation>正在提交…</translation>
    </message>
    <message>
        <source>Draft</source>
        <translation>起草</translation>
    </message>
    <message>
        <source>Kept</source>
        <translation>已保留</translation>
    </message>
    <message>
        <source>Looking…</source>
        <translation>正在查找…</translation>
    </message>
    <message>
        <source>Message</source>
        <translation>说明</translation>
    </message>
    <message>
        <source>Message of the commit</source>
        <translation>提交说明</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>停止</translation>
    </message>
    <message>
        <source>Subject, then an empty line, and the reason if it is not obvious</source>
        <translation>标题，然后空一行，原因不明显时再写原因</translation>
    </message>
    <message>
        <source>The model of this conversation writes the message, in the repository&apos;s style</source>
        <translation>由此对话的模型按仓库的风格撰写说明</translation>
    </message>
    <message>
        <source>The model writes the message…</source>
        <translation>模型正在撰写说明…</translation>
    </message>
    <message>
        <source>The subject has {0} of {1} characters</source>
        <translation>标题有 {0} 个字符，上限 {1} 个</translation>
    </message>
    <message>
        <source>The subject is long: {0} of {1} characters</source>
        <translation>标题过长：{0} 个字符，上限 {1} 个</translation>
    </message>
    <message>
        <source>There is nothing to commit: git has these lines, or they are left out.</source>
        <translation>没有可提交的内容：git 已有这些行，或者它们未包含在内。</translation>
    </message>
    <message>
        <source>There is nothing to commit: what the review lists is committed or undone already.</source>
        <translation>没有可提交的内容：审阅中列出的更改都已提交或已撤销。</translation>
    </message>
    <message>
        <source>This file</source>
        <translation>此文件</translation>
    </message>
    <message>
        <source>Tick everything that the review lists</source>
        <translation>勾选审阅中列出的全部更改</translation>
    </message>
    <message>
        <source>Tick only {0}</source>
        <translation>仅勾选 {0}</translation>
    </message>
    <message>
        <source>Tick what you decided to keep</source>
        <translation>勾选您决定保留的更改</translation>
    </message>
    <message>
        <source>Tick what you want to commit.</source>
        <translation>请勾选要提交的内容。</translation>
    </message>
    <message>
        <source>What git and its hooks say</source>
        <translation>git 及其钩子的输出</translation>
    </message>
    <message>
        <source>What is committed</source>
        <translation>要提交的内容</translation>
    </message>
    <message>
        <source>git does not know who you are. Run `git config --global user.name` and `user.email`.</source>
        <translation>git 不知道您是谁。请运行 `git config --global user.name` 和 `user.email`。</translation>
    </message>
    <message>
        <source>runs {0}</source>
        <translation>运行 {0}</translation>
    </message>
    <message>
        <source>signed</source>
        <translation>已签名</translation>
    </message>
    <message numerus="yes">
        <source>{0} of %n changes, in {1}</source>
        <translation>
            <numerusform>{1}中的 {0}/%n 处更改</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>CompactionWidget</name>
    <message>
        <source>Edit…</source>
        <translation>编辑…</translation>
    </message>
    <message>
        <source>The agent sees the older turns in full again</source>
        <translation>代理将再次逐字看到较早的轮次</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>撤销</translation>
    </message>
    <message>
        <source>Undo the summary</source>
        <translation>撤销摘要</translation>
    </message>
</context>
<context>
    <name>Composer</name>
    <message>
        <source>Ask for a change, or a question about this folder…</source>
        <translation>请求更改，或就此文件夹提问…</translation>
    </message>
    <message>
        <source>Composer</source>
        <translation>输入框</translation>
    </message>
    <message>
        <source>Mention files…</source>
        <translation>提及文件…</translation>
    </message>
    <message>
        <source>Mention files… (or type @)</source>
        <translation>提及文件…（或键入 @）</translation>
    </message>
    <message>
        <source>Queue the next message…</source>
        <translation>将下一条消息加入队列…</translation>
    </message>
    <message>
        <source>Queue the next message… {keys} sends it into this turn.</source>
        <translation>将下一条消息加入队列… 按 {keys} 发送到当前轮次。</translation>
    </message>
    <message>
        <source>Why not, or what to do instead…</source>
        <translation>为什么不行，或者应该怎么做…</translation>
    </message>
    <message>
        <source>{keys} denies with this reason.</source>
        <translation>{keys} 拒绝，并以此为理由。</translation>
    </message>
    <message>
        <source>{keys} sends it into the turn and leaves the question open.</source>
        <translation>{keys} 将其发送到当前回合，问题保持待答。</translation>
    </message>
</context>
<context>
    <name>Connections</name>
    <message>
        <source>Requests go to {0}. Credentials: {1}.</source>
        <translation>请求发送到 {0}。凭据：{1}。</translation>
    </message>
    <message>
        <source>{0} The key is kept for this run only.</source>
        <translation>{0} 密钥仅在本次运行中保留。</translation>
    </message>
</context>
<context>
    <name>ContentChip</name>
    <message>
        <source>Cannot be shown</source>
        <translation>无法显示</translation>
    </message>
</context>
<context>
    <name>Context</name>
    <message>
        <source>Conversation</source>
        <translation>对话</translation>
    </message>
    <message>
        <source>From {0}. It is read again when a turn begins.</source>
        <translation>来自 {0}。每轮开始时重新读取。</translation>
    </message>
    <message>
        <source>From {0}. You switched it off, so the agent does not get it.</source>
        <translation>来自 {0}。您已将其关闭，因此智能体不会收到它。</translation>
    </message>
    <message>
        <source>Pictures</source>
        <translation>图片</translation>
    </message>
    <message>
        <source>Pins</source>
        <translation>固定内容</translation>
    </message>
    <message>
        <source>Replaces the older turns. You can rewrite it: one point per line, under its heading.</source>
        <translation>代替较早的轮次。您可以改写：每行一点，放在相应标题下。</translation>
    </message>
    <message>
        <source>Summary</source>
        <translation>摘要</translation>
    </message>
    <message>
        <source>System prompt</source>
        <translation>系统提示词</translation>
    </message>
    <message>
        <source>The descriptions of the agent&apos;s tools.</source>
        <translation>代理工具的说明。</translation>
    </message>
    <message>
        <source>The instructions the agent gets before everything else.</source>
        <translation>代理最先收到的指令。</translation>
    </message>
    <message>
        <source>The newest pictures of the conversation. Older ones are left out.</source>
        <translation>对话中最新的图片。较早的会省略。</translation>
    </message>
    <message>
        <source>Tools</source>
        <translation>工具</translation>
    </message>
    <message>
        <source>Everything that was said, called and returned, in full.</source>
        <translation>逐字的消息、调用和结果。</translation>
    </message>
    <message>
        <source>What you pinned. It is sent with every request, after everything else.</source>
        <translation>您固定的内容。每次请求都会发送，位于最后。</translation>
    </message>
</context>
<context>
    <name>ContextInspector</name>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>Keep above all… (optional)</source>
        <translation>优先保留…（可选）</translation>
    </message>
    <message>
        <source>Not sent</source>
        <translation>不发送</translation>
    </message>
    <message>
        <source>Nothing was saved: write each point as a line “- …” under one of the headings.</source>
        <translation>未保存任何内容：请将每一点写成“- …”的一行，放在某个标题下。</translation>
    </message>
    <message>
        <source>Pins</source>
        <translation>固定内容</translation>
    </message>
    <message>
        <source>Repaired in the model&apos;s answers: {0}</source>
        <translation>已修正模型回答中的问题：{0}</translation>
    </message>
    <message>
        <source>Save summary</source>
        <translation>保存摘要</translation>
    </message>
    <message>
        <source>Send {0} to the model</source>
        <translation>将 {0} 发送给模型</translation>
    </message>
    <message>
        <source>Sent</source>
        <translation>发送</translation>
    </message>
    <message>
        <source>Summarise older turns</source>
        <translation>总结较早的轮次</translation>
    </message>
    <message>
        <source>Text of this part</source>
        <translation>此部分的文本</translation>
    </message>
    <message>
        <source>The agent sees the older turns in full again</source>
        <translation>代理将再次逐字看到较早的轮次</translation>
    </message>
    <message>
        <source>Undo summary</source>
        <translation>撤销摘要</translation>
    </message>
    <message>
        <source>What the model sees</source>
        <translation>模型看到的内容</translation>
    </message>
    <message>
        <source>What the summary should keep above all</source>
        <translation>摘要应优先保留的内容</translation>
    </message>
    <message>
        <source>older turns are summarised above {0}</source>
        <translation>从 {0} 起总结较早的轮次</translation>
    </message>
    <message>
        <source>older turns are summarised only when you ask</source>
        <translation>仅在您要求时总结较早的轮次</translation>
    </message>
    <message>
        <source>{0} more tools of MCP servers (about {1} tokens) are not sent: the agent searches for those it needs.</source>
        <translation>另有 {0} 个 MCP 服务器的工具（约 {1} 个 token）留待搜索：代理会找到所需的工具。</translation>
    </message>
    <message>
        <source>{0} of {1} tokens, {2} %</source>
        <translation>{0} / {1} 个 token，{2}%</translation>
    </message>
</context>
<context>
    <name>ContextMeter</name>
    <message numerus="yes">
        <source>%n tools of MCP servers are not sent: the agent searches for them.</source>
        <translation>
            <numerusform>MCP 服务器的 %n 个工具留待搜索。</numerusform>
        </translation>
    </message>
    <message>
        <source>About {0} of them are for tools of MCP servers.</source>
        <translation>其中约 {0} 个是 MCP 服务器的工具。</translation>
    </message>
    <message>
        <source>Click to see what the model sees.</source>
        <translation>点击查看模型看到的内容。</translation>
    </message>
    <message>
        <source>Context used</source>
        <translation>已用上下文</translation>
    </message>
    <message>
        <source>The context window is nearly full.</source>
        <translation>上下文窗口即将用满。</translation>
    </message>
    <message>
        <source>as the model reported it</source>
        <translation>由模型报告</translation>
    </message>
    <message>
        <source>as the provider counted them</source>
        <translation>由提供商统计</translation>
    </message>
    <message>
        <source>ctx {0} %</source>
        <translation>上下文 {0}%</translation>
    </message>
    <message>
        <source>estimated</source>
        <translation>估计</translation>
    </message>
    <message>
        <source>{0} of {1} tokens, {2}</source>
        <translation>{0} / {1} 个 token，{2}</translation>
    </message>
</context>
<context>
    <name>ControlRow</name>
    <message>
        <source>It starts when the turn has ended.</source>
        <translation>当前轮次结束后开始。</translation>
    </message>
    <message>
        <source>It starts when the turn has ended. {keys} sends it into the turn, which reads it at its next step.</source>
        <translation>本轮结束后开始。按 {keys} 将其发送到本轮，在下一步生效。</translation>
    </message>
    <message>
        <source>Queue</source>
        <translation>排队</translation>
    </message>
    <message>
        <source>Send</source>
        <translation>发送</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>停止</translation>
    </message>
    <message>
        <source>Stop this turn</source>
        <translation>停止本轮</translation>
    </message>
</context>
<context>
    <name>ConversationPane</name>
    <message>
        <source>Find in the conversation</source>
        <translation>在对话中查找</translation>
    </message>
</context>
<context>
    <name>Core</name>
    <message>
        <source>A command can change anything your account can, because no sandbox is available here. `desktop-agent doctor` says why.</source>
        <translation>命令可以更改您的账户能更改的一切，因为此处没有可用的沙盒。`desktop-agent doctor` 会说明原因。</translation>
    </message>
    <message>
        <source>A command can change anything your account can: the sandbox is switched off.</source>
        <translation>命令可以更改您的账户能更改的一切：沙盒已关闭。</translation>
    </message>
    <message>
        <source>A command may change files, and your approval policy asks before writing.</source>
        <translation>命令可能更改文件，而您的审批策略会在写入前询问。</translation>
    </message>
    <message>
        <source>A command&apos;s output could not be saved.</source>
        <translation>无法保存命令的输出。</translation>
    </message>
    <message>
        <source>A custom header for the model&apos;s address is malformed. Correct it or remove it.</source>
        <translation>模型地址的自定义标头格式有误。请更正或移除。</translation>
    </message>
    <message>
        <source>A file&apos;s content could not be saved, so nothing was changed.</source>
        <translation>无法保存文件内容，因此未作任何更改。</translation>
    </message>
    <message>
        <source>A link to {0} has taken the place of the folder {1}.</source>
        <translation>文件夹 {1} 的位置现在是指向 {0} 的链接。</translation>
    </message>
    <message>
        <source>A new conversation begins with your next prompt. This one stays in the list of sessions.</source>
        <translation>下一条消息将开始新的对话。当前对话保留在会话列表中。</translation>
    </message>
    <message>
        <source>A record failed unexpectedly.</source>
        <translation>一条记录意外失败。</translation>
    </message>
    <message>
        <source>A rule of the user forbids this: `{0}`.</source>
        <translation>用户的规则禁止此操作：`{0}`。</translation>
    </message>
    <message>
        <source>A rule of yours asks before this: `{0}`.</source>
        <translation>您的一条规则要求在此之前询问：`{0}`。</translation>
    </message>
    <message>
        <source>A running server or you changed the same lines since.</source>
        <translation>正在运行的服务器或您此后更改了相同的行。</translation>
    </message>
    <message>
        <source>The stored content of a file could not be read.</source>
        <translation>无法读取已存储的文件内容。</translation>
    </message>
    <message>
        <source>The stored content of a file is damaged.</source>
        <translation>已存储的文件内容已损坏。</translation>
    </message>
    <message>
        <source>The stored content of a file is missing.</source>
        <translation>已存储的文件内容缺失。</translation>
    </message>
    <message>
        <source>A symlink has taken the place of the folder {0}.</source>
        <translation>文件夹 {0} 已被符号链接取代。</translation>
    </message>
    <message>
        <source>Active pins: none</source>
        <translation>固定内容：无</translation>
    </message>
    <message>
        <source>Active pins: {0}</source>
        <translation>固定内容：{0}</translation>
    </message>
    <message>
        <source>Allow once</source>
        <translation>允许一次</translation>
    </message>
    <message>
        <source>Allow the application to listen on 127.0.0.1, or use an API key.</source>
        <translation>请允许应用程序监听 127.0.0.1，或使用 API 密钥。</translation>
    </message>
    <message>
        <source>Allow {0} as it is now</source>
        <translation>按现状允许 {0}</translation>
    </message>
    <message>
        <source>Allow {0} in this folder</source>
        <translation>在此文件夹中允许 {0}</translation>
    </message>
    <message>
        <source>Allow {0} in this session</source>
        <translation>在此会话中允许 {0}</translation>
    </message>
    <message>
        <source>Always allow {0}</source>
        <translation>始终允许 {0}</translation>
    </message>
    <message>
        <source>Another session changed the same lines since.</source>
        <translation>另一个会话此后更改了相同的行。</translation>
    </message>
    <message>
        <source>Applied again: {0} file.</source>
        <translation>已重做：{0} 个文件。</translation>
    </message>
    <message>
        <source>Applied again: {0} files.</source>
        <translation>已重做：{0} 个文件。</translation>
    </message>
    <message>
        <source>Which format should it be exported in?</source>
        <translation>要导出为什么格式？</translation>
    </message>
    <message>
        <source>Ask the agent to read it: then you are asked, and can allow it.</source>
        <translation>请让代理读取它：届时会询问您，您可以允许。</translation>
    </message>
    <message>
        <source>Auto-compaction: off</source>
        <translation>自动压缩：关闭</translation>
    </message>
    <message>
        <source>Auto-compaction: {0}</source>
        <translation>自动压缩：{0}</translation>
    </message>
    <message>
        <source>Begin a new conversation in this folder; this one stays in the list</source>
        <translation>在此文件夹中开始新对话；当前对话保留在列表中</translation>
    </message>
    <message>
        <source>Change its permissions, or choose another folder.</source>
        <translation>请更改其权限，或选择其他文件夹。</translation>
    </message>
    <message>
        <source>Change the mode of {0}?</source>
        <translation>更改 {0} 的权限？</translation>
    </message>
    <message>
        <source>Change {0} files?</source>
        <translation>更改 {0} 个文件？</translation>
    </message>
    <message>
        <source>Change {0}?</source>
        <translation>更改 {0}？</translation>
    </message>
    <message>
        <source>Changes git&apos;s own files: {0}.</source>
        <translation>更改 git 自身的文件：{0}。</translation>
    </message>
    <message>
        <source>Changes who may use files.</source>
        <translation>更改文件的使用权限。</translation>
    </message>
    <message>
        <source>Check provider and address in Settings, or the environment variable that the address comes from.</source>
        <translation>请检查设置中的提供商和地址，或提供该地址的环境变量。</translation>
    </message>
    <message>
        <source>Check the network and the address {0}.</source>
        <translation>请检查网络和地址 {0}。</translation>
    </message>
    <message>
        <source>Check the network connection and the address {0}.</source>
        <translation>请检查网络连接和地址 {0}。</translation>
    </message>
    <message>
        <source>Check the permissions of the data folder.</source>
        <translation>请检查数据文件夹的权限。</translation>
    </message>
    <message>
        <source>Check the plan of the key&apos;s account.</source>
        <translation>请检查该密钥所属账户的套餐。</translation>
    </message>
    <message>
        <source>Choose another file.</source>
        <translation>请选择其他文件。</translation>
    </message>
    <message>
        <source>Choose another folder.</source>
        <translation>请选择其他文件夹。</translation>
    </message>
    <message>
        <source>Choose another model in the model menu or with --model.</source>
        <translation>请在模型菜单中或用 --model 选择其他模型。</translation>
    </message>
    <message>
        <source>Choose another model, or use another key.</source>
        <translation>请选择其他模型，或使用其他密钥。</translation>
    </message>
    <message>
        <source>Choose another model.</source>
        <translation>请选择其他模型。</translation>
    </message>
    <message>
        <source>Choose another one.</source>
        <translation>请选择其他一个。</translation>
    </message>
    <message>
        <source>Choose the folder it is in.</source>
        <translation>请选择它所在的文件夹。</translation>
    </message>
    <message>
        <source>Choose the right account in the browser, or sign in with a new account here.</source>
        <translation>请在浏览器中选择正确的账户，或在此用新账户登录。</translation>
    </message>
    <message>
        <source>Close it there, then open it here.</source>
        <translation>请在那里关闭，然后在此打开。</translation>
    </message>
    <message>
        <source>Close other programs, and try again.</source>
        <translation>请关闭其他程序后重试。</translation>
    </message>
    <message>
        <source>Compaction done: everything through turn {0} is summarised for the model.</source>
        <translation>压缩完成：第 {0} 轮及之前的内容已为模型汇总。</translation>
    </message>
    <message>
        <source>Compaction was stopped, so nothing was summarised.</source>
        <translation>压缩已停止，未汇总任何内容。</translation>
    </message>
    <message>
        <source>Copy it into the folder, or open its own folder.</source>
        <translation>请将其复制到此文件夹，或打开它所在的文件夹。</translation>
    </message>
    <message>
        <source>Correct it in Settings, in --base-url or in the environment. A key belongs in the keyring.</source>
        <translation>请在设置、--base-url 或环境变量中更正。密钥应保存在密钥环中。</translation>
    </message>
    <message>
        <source>Create {0}?</source>
        <translation>创建 {0}？</translation>
    </message>
    <message>
        <source>Delete {0}?</source>
        <translation>删除 {0}？</translation>
    </message>
    <message>
        <source>Deletes a branch or tag.</source>
        <translation>删除分支或标签。</translation>
    </message>
    <message>
        <source>Deletes untracked files.</source>
        <translation>删除 git 未跟踪的文件。</translation>
    </message>
    <message>
        <source>Deletes files.</source>
        <translation>删除文件。</translation>
    </message>
    <message>
        <source>Deletes folders with everything in them.</source>
        <translation>删除文件夹及其全部内容。</translation>
    </message>
    <message>
        <source>Did you mean {0}?</source>
        <translation>您是指 {0} 吗？</translation>
    </message>
    <message>
        <source>Disable it, or rename it: letters, digits, _ and -, {0} at most.</source>
        <translation>请禁用或重命名：只能用字母、数字、_ 和 -，最多 {0} 个字符。</translation>
    </message>
    <message>
        <source>Ends other programs.</source>
        <translation>结束其他程序。</translation>
    </message>
    <message>
        <source>Enter another key in Settings, or correct {0} if the key comes from the environment.</source>
        <translation>请在设置中输入其他密钥；如果密钥来自环境变量，请更正 {0}。</translation>
    </message>
    <message>
        <source>Exported to {0}.</source>
        <translation>已导出到 {0}。</translation>
    </message>
    <message>
        <source>Folder: {0}</source>
        <translation>文件夹：{0}</translation>
    </message>
    <message>
        <source>Forked{0}: the copy is session {1}. This one stays as it is.</source>
        <translation>已复制{0}：副本是会话 {1}。当前会话保持不变。</translation>
    </message>
    <message>
        <source>Free some disk space, or check the folder of the cache. `desktop-agent doctor` says where it is.</source>
        <translation>请腾出一些磁盘空间，或检查缓存文件夹。`desktop-agent doctor` 会说明它的位置。</translation>
    </message>
    <message>
        <source>Free some disk space, or check the permissions of the data folder.</source>
        <translation>请释放磁盘空间，或检查数据文件夹的权限。</translation>
    </message>
    <message>
        <source>Free some disk space, or check the permissions of the data folder; then go on.</source>
        <translation>请释放磁盘空间，或检查数据文件夹的权限；然后继续。</translation>
    </message>
    <message>
        <source>Free some disk space, then go on.</source>
        <translation>请释放一些磁盘空间，然后继续。</translation>
    </message>
    <message>
        <source>Give its path relative to the folder.</source>
        <translation>请给出相对于文件夹的路径。</translation>
    </message>
    <message>
        <source>Go back to before the last message, send less at once, or start a new session for the next task.</source>
        <translation>请回到上一条消息之前，减少一次发送的内容，或为下一个任务新建会话。</translation>
    </message>
    <message>
        <source>Go on in a copy of the conversation, as it was before TURN</source>
        <translation>在对话副本中继续，副本为 TURN 之前的状态</translation>
    </message>
    <message>
        <source>Continue with another prompt.</source>
        <translation>请用另一条消息继续。</translation>
    </message>
    <message>
        <source>In the sandbox: may write nothing, no network</source>
        <translation>在沙盒中：不可写入，无网络</translation>
    </message>
    <message>
        <source>In the sandbox: may write this folder, no network</source>
        <translation>在沙盒中：可写入此文件夹，无网络</translation>
    </message>
    <message>
        <source>Include its files by name.</source>
        <translation>请按名称附上其中的文件。</translation>
    </message>
    <message>
        <source>It cannot be read: {0}.</source>
        <translation>无法读取：{0}。</translation>
    </message>
    <message>
        <source>It cannot be shown to a model: {0}.</source>
        <translation>无法展示给模型：{0}。</translation>
    </message>
    <message>
        <source>It changed a moment ago. Look at it again first.</source>
        <translation>它刚刚发生了更改。请先重新查看。</translation>
    </message>
    <message>
        <source>It could not be copied: {0}.</source>
        <translation>无法复制：{0}。</translation>
    </message>
    <message>
        <source>It could not be read.</source>
        <translation>无法读取。</translation>
    </message>
    <message>
        <source>It could not be read: {0}.</source>
        <translation>无法读取：{0}。</translation>
    </message>
    <message>
        <source>It could not be written: {0}.</source>
        <translation>无法写入：{0}。</translation>
    </message>
    <message>
        <source>It had not been read yet when the command began.</source>
        <translation>命令开始时尚未读取它。</translation>
    </message>
    <message>
        <source>It has no line {0}: it ends with line {1}.</source>
        <translation>没有第 {0} 行：文件止于第 {1} 行。</translation>
    </message>
    <message>
        <source>It is a device, pipe or socket, which cannot be read as a file.</source>
        <translation>这是设备、管道或套接字，无法作为文件读取。</translation>
    </message>
    <message>
        <source>It is a folder, which defines nothing.</source>
        <translation>这是文件夹，其中没有定义。</translation>
    </message>
    <message>
        <source>It is a folder, which has no lines.</source>
        <translation>这是文件夹，没有行。</translation>
    </message>
    <message>
        <source>It is a folder.</source>
        <translation>这是文件夹。</translation>
    </message>
    <message>
        <source>It is defined elsewhere: {0}.</source>
        <translation>它定义在别处：{0}。</translation>
    </message>
    <message>
        <source>It is gone.</source>
        <translation>已不存在。</translation>
    </message>
    <message>
        <source>It is larger than {0} MiB, so no copy was kept.</source>
        <translation>大于 {0} MiB，因此未保留副本。</translation>
    </message>
    <message>
        <source>It is more than a safety copy may hold: {0} files, {1} MiB.</source>
        <translation>超出安全副本的容量：{0} 个文件，{1} MiB。</translation>
    </message>
    <message>
        <source>It is not a code file: it is not text, or too large.</source>
        <translation>这不是代码文件：不是文本，或者太大。</translation>
    </message>
    <message>
        <source>It is not text: {0}, {1} bytes.</source>
        <translation>不是文本：{0}，{1} 字节。</translation>
    </message>
    <message>
        <source>It is outside the folder of this session.</source>
        <translation>位于此会话的文件夹之外。</translation>
    </message>
    <message>
        <source>It names no function, class or constant.</source>
        <translation>它没有指明函数、类或常量。</translation>
    </message>
    <message>
        <source>It is not empty, so it stays.</source>
        <translation>只要其中还有文件，它就会保留。</translation>
    </message>
    <message>
        <source>It was changed since, so your version was left alone.</source>
        <translation>此后已更改；您的版本保留不动。</translation>
    </message>
    <message>
        <source>It was moved or deleted since.</source>
        <translation>此后已被移动或删除。</translation>
    </message>
    <message>
        <source>It was renamed to {0} since. Undo that first.</source>
        <translation>此后已重命名为 {0}。请先撤销重命名。</translation>
    </message>
    <message>
        <source>It was renamed together with {0}, which has to be left alone.</source>
        <translation>它与 {0} 一同重命名，而后者必须保留不动。</translation>
    </message>
    <message>
        <source>It {0}. Choose another with /effort, or in the setting model.effort.</source>
        <translation>它{0}。请用 /effort 或设置 model.effort 选择其他强度。</translation>
    </message>
    <message>
        <source>Its earlier content is missing from the data folder.</source>
        <translation>数据文件夹中缺少其先前的内容。</translation>
    </message>
    <message>
        <source>Its file or the data folder was moved or deleted: put it back, then go on.</source>
        <translation>其文件或数据文件夹被移动或删除：请放回原处，然后继续。</translation>
    </message>
    <message>
        <source>Its folder is not in the workspace any more.</source>
        <translation>其文件夹已不在工作区中。</translation>
    </message>
    <message>
        <source>Its owner or extended attributes were changed since, so these were left alone.</source>
        <translation>其所有者或扩展属性此后已更改；这些保留不动。</translation>
    </message>
    <message>
        <source>Its permissions were changed since, so it was left alone.</source>
        <translation>其权限此后已更改；文件保留不动。</translation>
    </message>
    <message>
        <source>Its permissions were changed since, so they were left alone.</source>
        <translation>其权限此后已更改；权限保留不动。</translation>
    </message>
    <message>
        <source>Available: {0}.</source>
        <translation>已知的有 {0}。</translation>
    </message>
    <message>
        <source>Last compaction: none</source>
        <translation>上次压缩：无</translation>
    </message>
    <message>
        <source>Last compaction: {0}</source>
        <translation>上次压缩：{0}</translation>
    </message>
    <message>
        <source>Left as they are: {0}.</source>
        <translation>保持不变：{0}。</translation>
    </message>
    <message>
        <source>Let {0} run {1}?</source>
        <translation>让 {0} 运行 {1}？</translation>
    </message>
    <message>
        <source>List the commands</source>
        <translation>列出命令</translation>
    </message>
    <message>
        <source>Make a smaller copy: at most {0} bytes, and {1} pixels a side.</source>
        <translation>请制作较小的副本：最多 {0} 字节，每边最多 {1} 像素。</translation>
    </message>
    <message>
        <source>Mention it without line numbers.</source>
        <translation>提及时请不要写行号。</translation>
    </message>
    <message>
        <source>Mention one: {0}.</source>
        <translation>请提及其中一个：{0}。</translation>
    </message>
    <message>
        <source>Mention or include at most {0} at a time.</source>
        <translation>一次最多提及或附上 {0} 项。</translation>
    </message>
    <message>
        <source>Mode: approval {0}, sandbox {1}</source>
        <translation>模式：审批 {0}，沙盒 {1}</translation>
    </message>
    <message>
        <source>Model: {0}</source>
        <translation>模型：{0}</translation>
    </message>
    <message>
        <source>Name another file.</source>
        <translation>请指定另一个文件。</translation>
    </message>
    <message>
        <source>Name the one you mean: {0}.</source>
        <translation>请指明您所指的那一个：{0}。</translation>
    </message>
    <message>
        <source>No model is chosen.</source>
        <translation>未选择模型。</translation>
    </message>
    <message>
        <source>Not sandboxed: has all the rights of your account</source>
        <translation>不受限：可以做您的账户能做的一切</translation>
    </message>
    <message>
        <source>Nothing is known about the model, so its effort cannot be set.</source>
        <translation>对该模型一无所知，因此无法指定思考强度。</translation>
    </message>
    <message>
        <source>Nothing is pinned. `/pin add TEXT` pins a text.</source>
        <translation>没有固定任何内容。`/pin add TEXT` 可固定一段文字。</translation>
    </message>
    <message>
        <source>Nothing listens at {0}. Start the server, or check the address.</source>
        <translation>{0} 处没有服务在监听。请启动服务器，或检查地址。</translation>
    </message>
    <message>
        <source>Nothing was done.</source>
        <translation>未执行任何操作。</translation>
    </message>
    <message>
        <source>Nothing was done. Change its permissions, then go on.</source>
        <translation>没有做任何更改。请更改其权限，然后继续。</translation>
    </message>
    <message>
        <source>Nothing was pinned.</source>
        <translation>未固定任何内容。</translation>
    </message>
    <message>
        <source>Nothing was pinned: the time to keep it must be a number of seconds above 0.</source>
        <translation>未固定任何内容：保留时间必须是大于 0 的秒数。</translation>
    </message>
    <message>
        <source>Nothing was pinned: with this, the pins would take about {0} tokens of {1}.</source>
        <translation>未固定任何内容：加上它，固定内容约需 {0} 个 token，上限为 {1}。</translation>
    </message>
    <message>
        <source>Nothing was redone.</source>
        <translation>未重做任何内容。</translation>
    </message>
    <message>
        <source>Nothing was renamed.</source>
        <translation>未重命名任何内容。</translation>
    </message>
    <message>
        <source>Nothing was sent: the proxy {0} would read the key and the conversation.</source>
        <translation>未发送任何内容：代理服务器 {0} 会读取密钥和对话。</translation>
    </message>
    <message>
        <source>Nothing was undone.</source>
        <translation>未撤销任何内容。</translation>
    </message>
    <message>
        <source>Nothing was written.</source>
        <translation>未写入任何内容。</translation>
    </message>
    <message>
        <source>Part of {0} is undone; the patch shows everything that was changed.</source>
        <translation>{0} 有一部分已撤销；补丁显示全部更改。</translation>
    </message>
    <message>
        <source>Only {0} is possible.</source>
        <translation>只能是 {0}。</translation>
    </message>
    <message>
        <source>A safety copy is made first: {0}.</source>
        <translation>会先创建安全副本：{0}。</translation>
    </message>
    <message>
        <source>Add a test for an empty list, and note the fix in the changelog.</source>
        <translation>请为空列表添加一个测试，并在变更日志中记录这次修复。</translation>
    </message>
    <message>
        <source>Calls the services of AWS with your rights.</source>
        <translation>以您的权限调用 AWS 的服务。</translation>
    </message>
    <message>
        <source>Confined: {0}.</source>
        <translation>受限：{0}。</translation>
    </message>
    <message>
        <source>Drives a browser: opens pages, clicks, types and takes pictures.</source>
        <translation>操作浏览器：打开页面、点击、输入并截图。</translation>
    </message>
    <message>
        <source>Explains what AWS costs, and where to save.</source>
        <translation>说明 AWS 的费用以及可以节省之处。</translation>
    </message>
    <message>
        <source>Fetches web pages as text that models read well.</source>
        <translation>以便于模型阅读的文本形式获取网页。</translation>
    </message>
    <message>
        <source>It should have a key &quot;mcpServers&quot;.</source>
        <translation>文件中应有 “mcpServers” 键。</translation>
    </message>
    <message>
        <source>No API key for {0} could be read.</source>
        <translation>无法读取 {0} 的 API 密钥。</translation>
    </message>
    <message>
        <source>No closing quotation</source>
        <translation>引号没有闭合</translation>
    </message>
    <message>
        <source>Node.js, for npx.</source>
        <translation>Node.js（用于 npx）。</translation>
    </message>
    <message>
        <source>Not confined: it can do all that you can do.</source>
        <translation>未受限：它能做您能做的一切。</translation>
    </message>
    <message>
        <source>One of the tests fails. Find out why, fix it, and run the tests again.</source>
        <translation>有一个测试失败了。请找出原因并修复，然后重新运行测试。</translation>
    </message>
    <message>
        <source>Open the folder of a project.</source>
        <translation>请打开一个项目的文件夹。</translation>
    </message>
    <message>
        <source>Overwrites history on the server.</source>
        <translation>覆盖服务器上的历史。</translation>
    </message>
    <message>
        <source>Paste the whole key.</source>
        <translation>请粘贴完整的密钥。</translation>
    </message>
    <message>
        <source>Reaches outside the workspace: {0}.</source>
        <translation>访问工作区之外：{0}。</translation>
    </message>
    <message>
        <source>Read {0}?</source>
        <translation>读取 {0}？</translation>
    </message>
    <message>
        <source>Reads git repositories, and changes them unless it is confined.</source>
        <translation>读取 git 仓库；除非受限，也会修改它们。</translation>
    </message>
    <message>
        <source>Reads, writes and searches files in the folders that it is given.</source>
        <translation>在给定的文件夹中读取、写入和搜索文件。</translation>
    </message>
    <message>
        <source>Remove a pin</source>
        <translation>移除固定内容</translation>
    </message>
    <message>
        <source>Remove a pin, shorten the text, or raise compaction.pins_tokens in the settings.</source>
        <translation>请移除固定内容、缩短文本，或在设置中提高 compaction.pins_tokens。</translation>
    </message>
    <message>
        <source>Removes what git needs to restore commits.</source>
        <translation>移除 git 恢复提交所需的内容。</translation>
    </message>
    <message>
        <source>Rename and change {0}?</source>
        <translation>重命名并更改 {0}？</translation>
    </message>
    <message>
        <source>Rename {0}?</source>
        <translation>重命名 {0}？</translation>
    </message>
    <message>
        <source>Rephrase the request, or leave out what it declined.</source>
        <translation>请换一种说法，或去掉它拒绝的内容。</translation>
    </message>
    <message>
        <source>Repositories, issues and pull requests on GitHub.</source>
        <translation>GitHub 上的仓库、议题和拉取请求。</translation>
    </message>
    <message>
        <source>Requests go to: {0}</source>
        <translation>请求发往：{0}</translation>
    </message>
    <message>
        <source>Rewrites git&apos;s history.</source>
        <translation>改写 git 历史。</translation>
    </message>
    <message>
        <source>Run this command outside the sandbox?</source>
        <translation>在沙盒外运行此命令？</translation>
    </message>
    <message>
        <source>Run this command?</source>
        <translation>运行此命令？</translation>
    </message>
    <message>
        <source>Runs scripts of this project.</source>
        <translation>运行此项目的脚本。</translation>
    </message>
    <message>
        <source>Runs what another command prints as a script.</source>
        <translation>将另一个命令的输出作为脚本运行。</translation>
    </message>
    <message>
        <source>Runs with administrator rights (sudo).</source>
        <translation>以管理员权限 (sudo) 运行。</translation>
    </message>
    <message>
        <source>Save it as a file, and drop that here.</source>
        <translation>请将其保存为文件，然后拖放到此处。</translation>
    </message>
    <message>
        <source>Send “go on” to continue.</source>
        <translation>请说“继续”。</translation>
    </message>
    <message>
        <source>Search the web for “{0}”?</source>
        <translation>在网络上搜索“{0}”？</translation>
    </message>
    <message>
        <source>Send the message again in other words, or choose another model.</source>
        <translation>请换一种说法重新发送消息，或选择其他模型。</translation>
    </message>
    <message>
        <source>Send the message again.</source>
        <translation>请重新发送消息。</translation>
    </message>
    <message>
        <source>Session: {0}</source>
        <translation>会话：{0}</translation>
    </message>
    <message>
        <source>Show how much the model thinks, or set it</source>
        <translation>显示或设置模型的推理强度</translation>
    </message>
    <message>
        <source>Show settings, or change one from the next step on</source>
        <translation>显示设置，或更改某项（从下一步起生效）</translation>
    </message>
    <message>
        <source>Show the model, or choose another</source>
        <translation>显示模型，或选择其他模型</translation>
    </message>
    <message>
        <source>Show the model, the tokens in use, compaction and pins</source>
        <translation>显示模型、已用 token、总结和固定内容</translation>
    </message>
    <message>
        <source>Show what the agent changed in this conversation, as a patch</source>
        <translation>以补丁形式显示代理在此对话中的更改</translation>
    </message>
    <message>
        <source>Shuts the computer down.</source>
        <translation>关闭计算机。</translation>
    </message>
    <message>
        <source>Sign in again and allow the use of the plan, or use an API key.</source>
        <translation>请重新登录并允许使用套餐，或使用 API 密钥。</translation>
    </message>
    <message>
        <source>Sign in again, and finish it in the browser.</source>
        <translation>请重新登录，并在浏览器中完成。</translation>
    </message>
    <message>
        <source>Sign in again, or use an API key.</source>
        <translation>请重新登录，或使用 API 密钥。</translation>
    </message>
    <message>
        <source>Sign in again.</source>
        <translation>请重新登录。</translation>
    </message>
    <message>
        <source>Sign in again. If this happens again, do not use this network.</source>
        <translation>请重新登录。如果仍然如此，请勿使用此网络。</translation>
    </message>
    <message>
        <source>Sign in again: `ant auth login`.</source>
        <translation>请重新登录：`ant auth login`。</translation>
    </message>
    <message>
        <source>Sign in again: `desktop-agent auth sign-in {0} --account {1}`.</source>
        <translation>请重新登录：`desktop-agent auth sign-in {0} --account {1}`。</translation>
    </message>
    <message>
        <source>Something else has taken its place since.</source>
        <translation>此后其位置已被其他内容取代。</translation>
    </message>
    <message>
        <source>Something else has taken the place of the folder {0}.</source>
        <translation>文件夹 {0} 的位置已被其他内容取代。</translation>
    </message>
    <message>
        <source>Something went wrong inside the application, so the turn ended.</source>
        <translation>应用程序内部出错，因此本轮结束。</translation>
    </message>
    <message>
        <source>Something went wrong inside the application; the details are in the log.</source>
        <translation>应用程序内部出错；详情见日志。</translation>
    </message>
    <message>
        <source>Start a new one. `desktop-agent sessions verify --repair` removes this one.</source>
        <translation>请新建一个会话。`desktop-agent sessions verify --repair` 会移除此会话。</translation>
    </message>
    <message>
        <source>Start a new session, or send less at once.</source>
        <translation>请新建会话，或减少一次发送的内容。</translation>
    </message>
    <message>
        <source>Start in another folder, or name one.</source>
        <translation>请在其他文件夹中启动，或指定一个文件夹。</translation>
    </message>
    <message>
        <source>State: idle, {0} turn</source>
        <translation>状态：空闲，{0} 轮</translation>
    </message>
    <message>
        <source>State: idle, {0} turns</source>
        <translation>状态：空闲，{0} 轮</translation>
    </message>
    <message>
        <source>State: {0}, {1} turn</source>
        <translation>状态：{0}，{1} 轮</translation>
    </message>
    <message>
        <source>State: {0}, {1} turns</source>
        <translation>状态：{0}，{1} 轮</translation>
    </message>
    <message>
        <source>Stop it first, or keep the files.</source>
        <translation>请先停止它，或保留文件。</translation>
    </message>
    <message>
        <source>Stop it first.</source>
        <translation>请先停止它。</translation>
    </message>
    <message>
        <source>Summarise older turns, go back to before the last message, or start a new session.</source>
        <translation>请总结较早的轮次、回到上一条消息之前，或新建会话。</translation>
    </message>
    <message>
        <source>Tells the time, and converts it between time zones.</source>
        <translation>报告时间，并在时区之间换算。</translation>
    </message>
    <message>
        <source>The account has no credit or has reached its spending limit.</source>
        <translation>账户余额不足或已达支出上限。</translation>
    </message>
    <message>
        <source>The account {0} of {1} has another address now: {2}.</source>
        <translation>{1} 的账户 {0} 现在的地址不同：{2}。</translation>
    </message>
    <message>
        <source>The account&apos;s rate limit is reached.</source>
        <translation>已达到账户的速率限制。</translation>
    </message>
    <message>
        <source>The agent changed no file in this conversation, or all of it is undone.</source>
        <translation>代理在此对话中没有更改文件，或所有更改都已撤销。</translation>
    </message>
    <message>
        <source>The agent did not change {0} in this conversation.</source>
        <translation>代理在此对话中没有更改 {0}。</translation>
    </message>
    <message>
        <source>The agent is working, so /{0} was not carried out.</source>
        <translation>代理正在工作，因此未执行 /{0}。</translation>
    </message>
    <message>
        <source>The agent is working, so {0}.</source>
        <translation>代理正在工作，因此：{0}。</translation>
    </message>
    <message>
        <source>The agent is working in this session, {0}.</source>
        <translation>代理正在此会话中工作，{0}。</translation>
    </message>
    <message>
        <source>The answer broke off before it was complete.</source>
        <translation>回答在完成之前中断。</translation>
    </message>
    <message>
        <source>The answer ended before it was complete.</source>
        <translation>回答在完成之前结束。</translation>
    </message>
    <message>
        <source>The answer reached its token limit, so the call was not run. Make it again, split if it is long.</source>
        <translation>回答达到 token 上限，因此未执行该调用。请重新调用，过长时拆分。</translation>
    </message>
    <message>
        <source>The application ended before an answer came.</source>
        <translation>应用程序在得到答复之前已结束。</translation>
    </message>
    <message>
        <source>The application was closed.</source>
        <translation>应用程序已关闭。</translation>
    </message>
    <message>
        <source>The browser could not send the answer back: no port of this machine can be opened.</source>
        <translation>浏览器无法返回答复：本机无法打开任何端口。</translation>
    </message>
    <message>
        <source>The browser could not send the answer back: port {0} of this machine cannot be opened.</source>
        <translation>浏览器无法返回答复：本机的端口 {0} 无法打开。</translation>
    </message>
    <message>
        <source>The cache cannot be used. Work continues, but finding changes takes more time and memory.</source>
        <translation>缓存无法使用。一切照常进行，但查找更改需要更多时间和内存。</translation>
    </message>
    <message>
        <source>The call names no tool, so it was not run. Make the call again, with the name of the tool.</source>
        <translation>The call names no tool, so it was not run. Make the call again, with the name of the tool.</translation>
    </message>
    <message>
        <source>The context window was full, so the call was not run.</source>
        <translation>上下文窗口已满，因此未执行该调用。</translation>
    </message>
    <message>
        <source>The conversation cannot be copied.</source>
        <translation>无法复制对话。</translation>
    </message>
    <message>
        <source>The conversation cannot be copied: the first line of its journal cannot be read.</source>
        <translation>无法复制对话：其日志的第一行无法读取。</translation>
    </message>
    <message>
        <source>The conversation changed while it was summarised, so nothing was summarised.</source>
        <translation>对话在总结期间已更改，因此未进行总结。</translation>
    </message>
    <message>
        <source>The conversation could not be copied.</source>
        <translation>未能复制对话。</translation>
    </message>
    <message>
        <source>The conversation has become too large for one request.</source>
        <translation>对话已过大，无法在一次请求中发送。</translation>
    </message>
    <message>
        <source>The conversation no longer fits the model&apos;s context window.</source>
        <translation>对话已超出模型的上下文窗口。</translation>
    </message>
    <message>
        <source>The conversation takes about {0} tokens, and the model&apos;s window has {1}.</source>
        <translation>对话约需 {0} 个 token，而模型的窗口为 {1} 个。</translation>
    </message>
    <message>
        <source>The demo follows its script.</source>
        <translation>演示按脚本进行。</translation>
    </message>
    <message>
        <source>The details say why. A new session or another model may help.</source>
        <translation>详情中有原因。新建会话或换用其他模型可能有帮助。</translation>
    </message>
    <message>
        <source>The disk is full: a command&apos;s output could not be saved.</source>
        <translation>磁盘已满：命令的输出无法保存。</translation>
    </message>
    <message>
        <source>The disk is full: a file&apos;s content could not be saved, so nothing was changed.</source>
        <translation>磁盘已满：文件内容无法保存，因此没有做任何更改。</translation>
    </message>
    <message>
        <source>The disk is full: the session cannot be opened for writing.</source>
        <translation>磁盘已满：会话无法打开以供写入。</translation>
    </message>
    <message>
        <source>The disk is full: the session could not be written, so the agent stopped.</source>
        <translation>磁盘已满：会话无法写入，因此代理已停止。</translation>
    </message>
    <message>
        <source>The effort of {0} is {1} from {2} on.</source>
        <translation>{0} 的思考强度为 {1}，自 {2} 起生效。</translation>
    </message>
    <message>
        <source>The file is not in the folder of this conversation.</source>
        <translation>文件不在此对话的文件夹中。</translation>
    </message>
    <message>
        <source>The file is outside the open folder.</source>
        <translation>文件不在打开的文件夹中。</translation>
    </message>
    <message>
        <source>The file is not JSON.</source>
        <translation>该文件不是 JSON。</translation>
    </message>
    <message>
        <source>AWS access key …{0} ({1}), region {2}</source>
        <translation>AWS 访问密钥 …{0}（{1}），区域 {2}</translation>
    </message>
    <message>
        <source>Before this message, the conversation went on in {0}.</source>
        <translation>在这条消息之前，对话在 {0} 中继续过。</translation>
    </message>
    <message>
        <source>Install git.</source>
        <translation>请安装 Git。</translation>
    </message>
    <message>
        <source>The file is too large to be compared.</source>
        <translation>文件过大，无法比较。</translation>
    </message>
    <message>
        <source>The files are as they were before; the conversation stays.</source>
        <translation>文件已恢复原样；对话保留。</translation>
    </message>
    <message>
        <source>The folder cannot be read: {0}.</source>
        <translation>无法读取文件夹：{0}。</translation>
    </message>
    <message>
        <source>The folder has more than {0} files; the rest is not watched.</source>
        <translation>文件夹中的文件超过 {0} 个；其余不受监视。</translation>
    </message>
    <message>
        <source>The folder has no function, class or constant of that name.</source>
        <translation>文件夹中没有该名称的函数、类或常量。</translation>
    </message>
    <message>
        <source>The folder of {0} is not in the workspace any more. Nothing was written.</source>
        <translation>{0} 的文件夹已不在工作区中。未写入任何内容。</translation>
    </message>
    <message>
        <source>The folder this was started in is gone.</source>
        <translation>启动时所在的文件夹已不存在。</translation>
    </message>
    <message>
        <source>The folder {0} cannot be read.</source>
        <translation>无法读取文件夹 {0}。</translation>
    </message>
    <message>
        <source>The folder {0} does not exist.</source>
        <translation>文件夹 {0} 不存在。</translation>
    </message>
    <message>
        <source>The folder {0} was moved away or replaced while this conversation had it open.</source>
        <translation>此对话打开文件夹 {0} 期间，它被移走或替换了。</translation>
    </message>
    <message>
        <source>The git repository is gone.</source>
        <translation>git 存储库已不存在。</translation>
    </message>
    <message>
        <source>The host of this picture could not be found.</source>
        <translation>找不到此图片所在的主机。</translation>
    </message>
    <message>
        <source>The id {0} belongs to several changes of this session, so it is not clear which one is meant.</source>
        <translation>标识 {0} 属于此会话的多个更改，因此无法说明所指的是哪一个。</translation>
    </message>
    <message>
        <source>The key is empty.</source>
        <translation>密钥为空。</translation>
    </message>
    <message>
        <source>The key was refused.</source>
        <translation>密钥被拒绝。</translation>
    </message>
    <message>
        <source>The keyring could not be opened.</source>
        <translation>无法打开密钥环。</translation>
    </message>
    <message>
        <source>The keyring could not {0} the key.</source>
        <translation>密钥环无法处理该密钥（{0}）。</translation>
    </message>
    <message>
        <source>The keyring did not keep the key.</source>
        <translation>密钥环未保存该密钥。</translation>
    </message>
    <message>
        <source>The keyring does not answer.</source>
        <translation>密钥环没有响应。</translation>
    </message>
    <message>
        <source>The keyring is locked.</source>
        <translation>密钥环已锁定。</translation>
    </message>
    <message>
        <source>The keyring was not unlocked within {0} seconds.</source>
        <translation>密钥环未在 {0} 秒内解锁。</translation>
    </message>
    <message>
        <source>The last record of this session was cut off when the application ended.</source>
        <translation>应用程序结束时，此会话的最后一条记录被截断。</translation>
    </message>
    <message>
        <source>The message has {0} attachments, so it was not sent.</source>
        <translation>消息附带 {0} 项内容，因此未发送。</translation>
    </message>
    <message>
        <source>The model answered with nothing, twice.</source>
        <translation>模型两次都没有给出任何回答。</translation>
    </message>
    <message>
        <source>The model could not be asked for a summary ({0})</source>
        <translation>无法请模型生成摘要（{0}）</translation>
    </message>
    <message>
        <source>The model declined to answer this.</source>
        <translation>模型拒绝回答此内容。</translation>
    </message>
    <message>
        <source>The model is {0} from {1} on.</source>
        <translation>模型为 {0}，自 {1} 起生效。</translation>
    </message>
    <message>
        <source>The model no longer sees what came after, and the files are as they were before.</source>
        <translation>模型不再看到之后的内容，文件也已恢复原样。</translation>
    </message>
    <message>
        <source>The model no longer sees what came after.</source>
        <translation>模型不再看到之后的内容。</translation>
    </message>
    <message>
        <source>The model no longer sees what came after; the files stay as they are.</source>
        <translation>模型不再看到之后的内容；文件保持不变。</translation>
    </message>
    <message>
        <source>The model stopped answering.</source>
        <translation>模型停止了响应。</translation>
    </message>
    <message>
        <source>The model&apos;s address could not be reached.</source>
        <translation>无法访问模型的地址。</translation>
    </message>
    <message>
        <source>The model&apos;s address is not a web address{0}.</source>
        <translation>模型的地址不是网址{0}。</translation>
    </message>
    <message>
        <source>The model&apos;s service had an internal error.</source>
        <translation>模型服务发生内部错误。</translation>
    </message>
    <message>
        <source>The model&apos;s service is overloaded.</source>
        <translation>模型服务过载。</translation>
    </message>
    <message>
        <source>The name in {0} is unknown. Check the address and the network connection.</source>
        <translation>{0} 中的名称未知。请检查地址和网络连接。</translation>
    </message>
    <message>
        <source>The name of the model is missing.</source>
        <translation>缺少模型名称。</translation>
    </message>
    <message>
        <source>The new window could not be started.</source>
        <translation>无法打开新窗口。</translation>
    </message>
    <message>
        <source>The next request goes to {0} again. The setting model.fallback names the substitute.</source>
        <translation>下一次请求仍发给 {0}。由谁顶替由设置 model.fallback 指定。</translation>
    </message>
    <message>
        <source>The output cannot be read: {0}.</source>
        <translation>无法读取输出：{0}。</translation>
    </message>
    <message>
        <source>The picture took too long to load.</source>
        <translation>图片未能及时送达。</translation>
    </message>
    <message>
        <source>The proxy {0} could not be reached.</source>
        <translation>无法连接代理服务器 {0}。</translation>
    </message>
    <message>
        <source>The proxy {0} refused the connection{1}. The model was not reached.</source>
        <translation>代理服务器 {0} 拒绝了连接{1}。未能连接模型。</translation>
    </message>
    <message>
        <source>The redo of turn {0} changed the same lines since.</source>
        <translation>第 {0} 轮的重做此后更改了相同的行。</translation>
    </message>
    <message>
        <source>The reply did not stop for this call, so it was not run. Send it again if it is still wanted.</source>
        <translation>回答没有为此调用停下，因此未执行。如仍需要请重新发送。</translation>
    </message>
    <message>
        <source>The reply reached its length limit before this call was complete, so it was not run. Send it again in smaller parts: several edits instead of one large file.</source>
        <translation>在此调用完成之前，回答已达长度上限，因此未执行。请分成较小的部分重新发送：用多次编辑代替一个大文件。</translation>
    </message>
    <message>
        <source>The reply was cut at its length limit.</source>
        <translation>回答因达到长度上限而被截断。</translation>
    </message>
    <message>
        <source>The request could not be sent.</source>
        <translation>无法发送请求。</translation>
    </message>
    <message>
        <source>The request was refused as invalid.</source>
        <translation>请求因无效而被拒绝。</translation>
    </message>
    <message>
        <source>The safety copy could not be made ({0}), so the command was not run.</source>
        <translation>无法创建安全副本（{0}），因此未运行命令。</translation>
    </message>
    <message>
        <source>The same lines were changed since.</source>
        <translation>相同的行此后已更改。</translation>
    </message>
    <message>
        <source>The sandbox is strict: nothing may be written. Say what you would change instead.</source>
        <translation>沙盒为严格模式：不可写入任何内容。请说明您本来要更改什么。</translation>
    </message>
    <message>
        <source>The server changed this tool since you allowed it.</source>
        <translation>自您允许以来，服务器更改了此工具。</translation>
    </message>
    <message>
        <source>The session cannot be continued: the line of its journal that names its folder cannot be read.</source>
        <translation>无法继续此会话：其日志中指明文件夹的那一行无法读取。</translation>
    </message>
    <message>
        <source>The session cannot be opened for writing.</source>
        <translation>无法以写入方式打开会话。</translation>
    </message>
    <message>
        <source>The session could not be deleted.</source>
        <translation>无法删除会话。</translation>
    </message>
    <message>
        <source>The session could not be read.</source>
        <translation>无法读取会话。</translation>
    </message>
    <message>
        <source>The session could not be written, so the agent stopped.</source>
        <translation>无法写入会话，因此代理已停止。</translation>
    </message>
    <message>
        <source>The session has reached its spending limit.</source>
        <translation>会话不可再产生费用。</translation>
    </message>
    <message>
        <source>The sign-in with {0} was declined.</source>
        <translation>{0} 的登录被拒绝。</translation>
    </message>
    <message>
        <source>The sign-in with {0} was not finished within {1} minutes.</source>
        <translation>{0} 的登录未在 {1} 分钟内完成。</translation>
    </message>
    <message>
        <source>The tool “{0}” has a name that the model&apos;s API does not accept.</source>
        <translation>工具“{0}”的名称不被模型的 API 接受。</translation>
    </message>
    <message>
        <source>The turn was stopped before an answer came.</source>
        <translation>本轮在得到答复之前已停止。</translation>
    </message>
    <message>
        <source>The undo of turn {0} changed the same lines since.</source>
        <translation>第 {0} 轮的撤销此后更改了相同的行。</translation>
    </message>
    <message>
        <source>The {0} was stopped after {1} seconds, its time limit.</source>
        <translation>{0} 在 {1} 秒后停止，这是允许的最长时间。</translation>
    </message>
    <message>
        <source>There is already a {0}.</source>
        <translation>已存在 {0}。</translation>
    </message>
    <message>
        <source>There is no API key for {0}.</source>
        <translation>没有 {0} 的 API 密钥。</translation>
    </message>
    <message>
        <source>There is no command {0}.</source>
        <translation>没有命令 {0}。</translation>
    </message>
    <message>
        <source>There is no display to open a window on (DISPLAY and WAYLAND_DISPLAY are unset).</source>
        <translation>没有可打开窗口的显示器（未设置 DISPLAY 和 WAYLAND_DISPLAY）。</translation>
    </message>
    <message>
        <source>There is no list of MCP servers in the file.</source>
        <translation>文件中没有 MCP 服务器列表。</translation>
    </message>
    <message>
        <source>There is no model named “{0}”.</source>
        <translation>没有名为“{0}”的模型。</translation>
    </message>
    <message>
        <source>There is no picture at this address: the answer was {0} {1}.</source>
        <translation>此地址没有图片：返回的结果是 {0} {1}。</translation>
    </message>
    <message>
        <source>There is no pin “{0}”.</source>
        <translation>没有固定内容“{0}”。</translation>
    </message>
    <message>
        <source>There is no provider {0}.</source>
        <translation>没有提供商 {0}。</translation>
    </message>
    <message>
        <source>There is no server named {0} in the catalogue.</source>
        <translation>目录中没有名为 {0} 的服务器。</translation>
    </message>
    <message>
        <source>There is no setting {0}.</source>
        <translation>没有设置 {0}。</translation>
    </message>
    <message>
        <source>There is no such file in the folder of this session.</source>
        <translation>此会话的文件夹中没有此文件。</translation>
    </message>
    <message>
        <source>There is no such file.</source>
        <translation>没有此文件。</translation>
    </message>
    <message>
        <source>There is no turn to go back to yet.</source>
        <translation>还没有可以返回的轮次。</translation>
    </message>
    <message>
        <source>There is no turn {0} in this session.</source>
        <translation>此会话中没有第 {0} 轮。</translation>
    </message>
    <message>
        <source>There is no turn {0} to go back to.</source>
        <translation>没有可回到的第 {0} 轮。</translation>
    </message>
    <message>
        <source>There is nothing to pin: the text is empty.</source>
        <translation>没有可固定的内容：文本为空。</translation>
    </message>
    <message>
        <source>There is nothing to summarise yet: only the last turn is left.</source>
        <translation>尚无可总结的内容：只剩最后一轮。</translation>
    </message>
    <message>
        <source>There is nothing to {0}.</source>
        <translation>没有可执行此操作（{0}）的内容。</translation>
    </message>
    <message>
        <source>There is nothing to {0}{1}.</source>
        <translation>没有可执行的内容（{0}）{1}。</translation>
    </message>
    <message>
        <source>This address is not on the public internet, so nothing is loaded from it.</source>
        <translation>此地址不在公共互联网上，因此不会从中加载任何内容。</translation>
    </message>
    <message>
        <source>This changes files, and your approval policy asks before writing.</source>
        <translation>这会更改文件，而您的审批策略会在写入前询问。</translation>
    </message>
    <message>
        <source>This command could not be fully understood: {0}.</source>
        <translation>未能完全理解此命令：{0}。</translation>
    </message>
    <message>
        <source>This command was not fully understood, so it may contain one that you blocked.</source>
        <translation>未能完全理解此命令，其中可能含有您禁止的命令。</translation>
    </message>
    <message>
        <source>This conversation has cost {0}, and its limit is {1}.</source>
        <translation>此对话已花费 {0}，上限为 {1}。</translation>
    </message>
    <message>
        <source>This is not a file.</source>
        <translation>这不是文件。</translation>
    </message>
    <message>
        <source>This is only the beginning; `desktop-agent changes diff {0}` prints all of it.</source>
        <translation>这只是开头；`desktop-agent changes diff {0}` 输出全部。</translation>
    </message>
    <message>
        <source>This key may not use {0}.</source>
        <translation>此密钥不可使用 {0}。</translation>
    </message>
    <message>
        <source>This needs administrator rights.</source>
        <translation>这需要管理员权限。</translation>
    </message>
    <message>
        <source>This needs the network.</source>
        <translation>这需要网络。</translation>
    </message>
    <message>
        <source>This picture cannot be read.</source>
        <translation>无法读取此图片。</translation>
    </message>
    <message>
        <source>This picture could not be loaded.</source>
        <translation>无法加载此图片。</translation>
    </message>
    <message>
        <source>This picture is outside the open folder, so it is not loaded.</source>
        <translation>此图片不在打开的文件夹中，因此不会读取。</translation>
    </message>
    <message>
        <source>This picture is larger than {0} MB, so it is not loaded.</source>
        <translation>此图片大于 {0} MB，因此不会加载。</translation>
    </message>
    <message>
        <source>This picture is not there: the file was moved or deleted, or never existed.</source>
        <translation>此图片不存在：文件已被移动或删除，或从未存在过。</translation>
    </message>
    <message>
        <source>This reaches outside the workspace ({0}).</source>
        <translation>这会访问工作区之外（{0}）。</translation>
    </message>
    <message>
        <source>This session is open in another window or process.</source>
        <translation>此会话已在另一个窗口或进程中打开。</translation>
    </message>
    <message>
        <source>This system has no keyring to keep keys in.</source>
        <translation>此系统没有可保存密钥的密钥环。</translation>
    </message>
    <message>
        <source>This tool is not part of the application.</source>
        <translation>此工具不是本程序的工具。</translation>
    </message>
    <message>
        <source>This tool belongs to an MCP server.</source>
        <translation>此工具来自 MCP 服务器。</translation>
    </message>
    <message>
        <source>This uses the network.</source>
        <translation>这会使用网络。</translation>
    </message>
    <message>
        <source>This writes git&apos;s own files.</source>
        <translation>这会写入 git 自身的文件。</translation>
    </message>
    <message>
        <source>Discards uncommitted changes, and may drop commits.</source>
        <translation>丢弃未提交的更改，并可能丢失提交。</translation>
    </message>
    <message>
        <source>Discards uncommitted changes.</source>
        <translation>丢弃未提交的更改。</translation>
    </message>
    <message>
        <source>Discards stashed changes.</source>
        <translation>丢弃贮藏的更改。</translation>
    </message>
    <message>
        <source>To send it as text, put it in backquotes.</source>
        <translation>要作为文本发送，请放在反引号中。</translation>
    </message>
    <message>
        <source>To send it to the model as it is, begin with a space or a second slash.</source>
        <translation>若要原样发送给模型，请以空格或第二个斜杠开头。</translation>
    </message>
    <message>
        <source>Today&apos;s conversations have cost {0}, and the limit of a day is {1}.</source>
        <translation>今天的对话已花费 {0}，每日上限为 {1}。</translation>
    </message>
    <message>
        <source>Tokens: not known yet</source>
        <translation>令牌：尚不清楚</translation>
    </message>
    <message>
        <source>Tokens: {0} of {1}</source>
        <translation>令牌：{0} / {1}</translation>
    </message>
    <message>
        <source>Tokens: {0} of {1}, as the provider reported it</source>
        <translation>令牌：{0} / {1}，由提供商报告</translation>
    </message>
    <message>
        <source>Tokens: {0} of {1}, counted by the provider</source>
        <translation>令牌：{0} / {1}，由提供商计数</translation>
    </message>
    <message>
        <source>Tokens: {0} of {1}, estimated</source>
        <translation>令牌：{0} / {1}，估计值</translation>
    </message>
    <message>
        <source>Touches a file that often holds secrets: {0}.</source>
        <translation>涉及常含机密的文件：{0}。</translation>
    </message>
    <message>
        <source>Try again in a few minutes, or choose another model.</source>
        <translation>请几分钟后重试，或选择其他模型。</translation>
    </message>
    <message>
        <source>Try again in a minute.</source>
        <translation>请一分钟后重试。</translation>
    </message>
    <message>
        <source>Try again {0}, or choose another model.</source>
        <translation>请{0}重试，或选择其他模型。</translation>
    </message>
    <message>
        <source>Try again, or use an API key.</source>
        <translation>请重试，或使用 API 密钥。</translation>
    </message>
    <message>
        <source>Try again. If it stays silent, check the network.</source>
        <translation>请重试。如果仍无响应，请检查网络。</translation>
    </message>
    <message>
        <source>Trying again in {0} s (try {1} of {2}).</source>
        <translation>{0} 秒后重试（第 {1}/{2} 次）。</translation>
    </message>
    <message>
        <source>Turn {0} changed the same place later. Undo that first, or choose between the versions.</source>
        <translation>第 {0} 轮之后更改了同一位置。请先撤销那次更改，或在各版本之间选择。</translation>
    </message>
    <message>
        <source>Undone: {0} file.</source>
        <translation>已撤销：{0} 个文件。</translation>
    </message>
    <message>
        <source>Undone: {0} files.</source>
        <translation>已撤销：{0} 个文件。</translation>
    </message>
    <message>
        <source>Unpinned {0}.</source>
        <translation>已取消固定 {0}。</translation>
    </message>
    <message>
        <source>Use an https:// address if the server has one. This warning comes once.</source>
        <translation>如果服务器有 https:// 地址，请使用它。此警告只出现一次。</translation>
    </message>
    <message>
        <source>Uses the network.</source>
        <translation>使用网络。</translation>
    </message>
    <message>
        <source>Versions: {0}.</source>
        <translation>版本：{0}。</translation>
    </message>
    <message>
        <source>Waiting for the keyring to answer. At most {0} seconds.</source>
        <translation>正在等待密钥环响应。最多 {0} 秒。</translation>
    </message>
    <message>
        <source>Waiting for the keyring: it may ask you to unlock it. At most {0} seconds.</source>
        <translation>正在等待密钥环：可能会要求您解锁。最多 {0} 秒。</translation>
    </message>
    <message>
        <source>Went back to before turn {0}.</source>
        <translation>已回到第 {0} 轮之前。</translation>
    </message>
    <message>
        <source>What was pasted is not a readable picture.</source>
        <translation>粘贴的内容不是可读取的图片。</translation>
    </message>
    <message>
        <source>What was said and changed can still be shown. To go on, start a new session in the folder.</source>
        <translation>所说的内容和所做的更改仍可查看。若要继续，请在该文件夹中新建会话。</translation>
    </message>
    <message>
        <source>The price of {0} is not known, so cost limits do not apply to it.</source>
        <translation>{0} 的费用未知，因此没有费用限制。</translation>
    </message>
    <message>
        <source>Which pin?</source>
        <translation>哪一项固定内容？</translation>
    </message>
    <message>
        <source>Write `/config set KEY=VALUE`; `/config` lists them all.</source>
        <translation>请写 `/config set KEY=VALUE`；`/config` 列出全部设置。</translation>
    </message>
    <message>
        <source>Write `/export md PATH`; there are md, html, jsonl, patch.</source>
        <translation>请写 `/export md PATH`；可用 md、html、jsonl、patch。</translation>
    </message>
    <message>
        <source>Write `/model {0}/NAME`.</source>
        <translation>请写 `/model {0}/NAME`。</translation>
    </message>
    <message>
        <source>Write `/pin add [--ttl=SECONDS] TEXT`, `/pin remove ID` or `/pin list`.</source>
        <translation>请写 `/pin add [--ttl=SECONDS] TEXT`、`/pin remove ID` 或 `/pin list`。</translation>
    </message>
    <message>
        <source>Write `/{0}` for the last {1}, or `turn N`, `call ID`, `file PATH` or `all` after it.</source>
        <translation>`/{0}`针对最后一项（{1}），也可在后面写 `turn N`、`call ID`、`file PATH` 或 `all`。</translation>
    </message>
    <message>
        <source>Writes to disks or devices directly.</source>
        <translation>直接写入磁盘或设备。</translation>
    </message>
    <message>
        <source>Writing {0} ({1} kB)</source>
        <translation>正在写入 {0}（{1} kB）</translation>
    </message>
    <message>
        <source>You can also set the key as an environment variable, for example ANTHROPIC_API_KEY.</source>
        <translation>也可以将密钥设为环境变量，例如 ANTHROPIC_API_KEY。</translation>
    </message>
    <message>
        <source>You can edit that summary, or undo it: nothing is lost.</source>
        <translation>您可以编辑或撤销该摘要：没有丢失任何内容。</translation>
    </message>
    <message>
        <source>You changed the same lines since.</source>
        <translation>您此后更改了相同的行。</translation>
    </message>
    <message>
        <source>Your approval policy asks before every call.</source>
        <translation>您的审批策略在每次调用前询问。</translation>
    </message>
    <message>
        <source>Your files and this conversation are safe. Try again; the details are in the log.</source>
        <translation>您的文件和此对话是安全的。请重试；详情见日志。</translation>
    </message>
    <message>
        <source>Your rule `{0}` no longer applies, because something that it runs here has changed.</source>
        <translation>您的规则 `{0}` 不再有效，因为它在此处运行的某些内容已更改。</translation>
    </message>
    <message>
        <source>Your rule `{0}` does not apply here, because the command changes to another folder.</source>
        <translation>您的规则 `{0}` 在此无效，因为该命令会转到另一个文件夹。</translation>
    </message>
    <message>
        <source>Your rule `{0}` does not say in which repository it was made, so it no longer applies.</source>
        <translation>您的规则 `{0}` 没有注明是在哪个仓库中创建的，因此不再有效。</translation>
    </message>
    <message>
        <source>Your rule `{0}` applies to this tool once you allow it as it is now.</source>
        <translation>您按现状允许此工具后，您的规则 `{0}` 即对其有效。</translation>
    </message>
    <message>
        <source>&apos;hosts&apos; is for an agent in the sandbox: add sandbox = &quot;restricted&quot;</source>
        <translation>“hosts”用于沙盒中的代理：请添加 sandbox = &quot;restricted&quot;</translation>
    </message>
    <message>
        <source>7-Zip archive</source>
        <translation>7-Zip 归档</translation>
    </message>
    <message>
        <source>A file of the registry lists them as &quot;agents&quot;.</source>
        <translation>注册表文件在 &quot;agents&quot; 下列出它们。</translation>
    </message>
    <message>
        <source>A header for this server cannot be sent.</source>
        <translation>无法发送此服务器的一个标头。</translation>
    </message>
    <message>
        <source>A hook kept the conversation from being summarised.</source>
        <translation>一个钩子阻止了对话被总结。</translation>
    </message>
    <message>
        <source>A newer version of Desktop Agent has written to this session, so it was left as it is.</source>
        <translation>较新版本的 Desktop Agent 写入过此会话，因此未作任何改动。</translation>
    </message>
    <message>
        <source>A plugin cannot be fetched from {0}.</source>
        <translation>无法从 {0} 获取插件。</translation>
    </message>
    <message>
        <source>A running server or you changed it since, so it was left alone.</source>
        <translation>正在运行的服务器或您此后更改了它；该版本保留不动。</translation>
    </message>
    <message>
        <source>A running server or you may have made this change, so it was left alone. It is undone only when requested explicitly.</source>
        <translation>它可能出自正在运行的服务器或您本人，因此保留不动。只有单独要求时才会撤销。</translation>
    </message>
    <message>
        <source>A stored reference to a file&apos;s content is damaged.</source>
        <translation>存储的文件内容引用已损坏。</translation>
    </message>
    <message>
        <source>A worktree starts from a commit.</source>
        <translation>工作树从一个提交开始。</translation>
    </message>
    <message>
        <source>AVI video</source>
        <translation>AVI 视频</translation>
    </message>
    <message>
        <source>AVIF image</source>
        <translation>AVIF 图像</translation>
    </message>
    <message>
        <source>Add one with `git remote add`.</source>
        <translation>请用 `git remote add` 添加一个。</translation>
    </message>
    <message>
        <source>Allow the model in the console of the cloud, or choose another model.</source>
        <translation>请在云控制台中允许该模型，或选择其他模型。</translation>
    </message>
    <message>
        <source>Allowed for this server in this session.</source>
        <translation>已在此会话中允许该服务器。</translation>
    </message>
    <message>
        <source>Allowed once.</source>
        <translation>已允许一次。</translation>
    </message>
    <message>
        <source>An agent of another program takes the turns.</source>
        <translation>回合由另一个程序的代理执行。</translation>
    </message>
    <message>
        <source>An event cannot be recorded, so the agent stopped.</source>
        <translation>发生的事情无法记录，因此代理已停止。</translation>
    </message>
    <message>
        <source>Another file that takes its place, or whose place it takes, is left out.</source>
        <translation>占据其位置的文件，或其位置被它占据的文件，未包含在内。</translation>
    </message>
    <message>
        <source>Another process makes or moves the worktree {0}.</source>
        <translation>另一个进程正在创建或移动工作树 {0}。</translation>
    </message>
    <message>
        <source>Another program has locked the index of git.</source>
        <translation>另一个程序锁定了 Git 的索引。</translation>
    </message>
    <message>
        <source>Another session changed it since, so it was left alone.</source>
        <translation>另一个会话此后更改了它；该版本保留不动。</translation>
    </message>
    <message>
        <source>Another session&apos;s command ran at the same time and may have made this change. To undo it, select only this file.</source>
        <translation>另一个会话的命令同时在运行，因此可能是它所为。请单独选择该文件来撤销。</translation>
    </message>
    <message>
        <source>Another version of {0} is staged.</source>
        <translation>已暂存 {0} 的另一个版本。</translation>
    </message>
    <message>
        <source>Ask for less at a time, or raise call_timeout_seconds of this server.</source>
        <translation>请一次请求少一些，或增大此服务器的 call_timeout_seconds。</translation>
    </message>
    <message>
        <source>Ask who runs it, or change the variable that names it.</source>
        <translation>请询问其运营者，或更改指定它的变量。</translation>
    </message>
    <message>
        <source>Ask whoever runs the proxy, or change {0}.</source>
        <translation>请询问代理服务器的管理者，或更改 {0}。</translation>
    </message>
    <message>
        <source>BMP image</source>
        <translation>BMP 图像</translation>
    </message>
    <message>
        <source>Bring back the worktree {0}.</source>
        <translation>取回工作树 {0}。</translation>
    </message>
    <message>
        <source>Call it again: that reconnects.</source>
        <translation>请再次调用，这会重新连接。</translation>
    </message>
    <message>
        <source>Change the list in the settings.</source>
        <translation>请在设置中修改该列表。</translation>
    </message>
    <message>
        <source>Changes of the variants clash, so nothing was taken.</source>
        <translation>各方案的更改有冲突，因此未采用任何内容。</translation>
    </message>
    <message>
        <source>Check `issuer` in its definition. If it is right, do not use this server.</source>
        <translation>请检查其定义中的 `issuer`。如果正确，请不要使用此服务器。</translation>
    </message>
    <message>
        <source>Check the address and the network connection.</source>
        <translation>请检查地址和网络连接。</translation>
    </message>
    <message>
        <source>Check the address.</source>
        <translation>请检查地址。</translation>
    </message>
    <message>
        <source>Check the application&apos;s data folder: `desktop-agent doctor`.</source>
        <translation>请检查应用程序的数据文件夹：`desktop-agent doctor`。</translation>
    </message>
    <message>
        <source>Check the file again. Your text was not lost.</source>
        <translation>请再看一次；您的文本仍在原处。</translation>
    </message>
    <message>
        <source>Check the free space.</source>
        <translation>请检查可用空间。</translation>
    </message>
    <message>
        <source>Check the model&apos;s address, and a gateway before it: compression must be off.</source>
        <translation>请检查模型的地址及其前面的网关：必须关闭压缩。</translation>
    </message>
    <message>
        <source>Check the model&apos;s address, or use another model. Nothing of the answer was acted on.</source>
        <translation>请检查模型的地址，或使用其他模型。回答中的内容均未执行。</translation>
    </message>
    <message>
        <source>Check the network connection and try again.</source>
        <translation>请检查网络连接，然后重试。</translation>
    </message>
    <message>
        <source>Check the path of its URL; for many it is /mcp.</source>
        <translation>请检查其 URL 的路径；许多服务器为 /mcp。</translation>
    </message>
    <message>
        <source>Check the region and the address of the account, or the environment variables that they come from.</source>
        <translation>请检查账户的区域和地址，或提供它们的环境变量。</translation>
    </message>
    <message>
        <source>Check the secret of its client_id.</source>
        <translation>请检查其 client_id 的密钥。</translation>
    </message>
    <message>
        <source>Choose another model, or a region that has it.</source>
        <translation>请选择其他模型，或选择提供该模型的区域。</translation>
    </message>
    <message>
        <source>Choose another name with --account.</source>
        <translation>请用 --account 选择另一个名称。</translation>
    </message>
    <message>
        <source>Choose another name.</source>
        <translation>请选择其他名称。</translation>
    </message>
    <message>
        <source>Choose one below the message field, or name one with --agent.</source>
        <translation>请在消息框下方选择，或用 --agent 指定。</translation>
    </message>
    <message>
        <source>Claude Code is signed in on this machine. Anthropic does not permit other applications to use the sign-in of a Claude subscription, so it is not read.</source>
        <translation>Claude Code 已在此计算机上登录。Anthropic 不允许其他应用程序使用 Claude 订阅的登录，因此不会读取它。</translation>
    </message>
    <message>
        <source>Close it, then try again.</source>
        <translation>请将其关闭，然后重试。</translation>
    </message>
    <message>
        <source>Close older sign-in pages, then sign in again.</source>
        <translation>请关闭较早的登录页面，然后重新登录。</translation>
    </message>
    <message>
        <source>Close the program that uses the port, or register another port with the service.</source>
        <translation>请结束占用它的程序，或在服务处注册另一个端口。</translation>
    </message>
    <message>
        <source>Codex is signed in with ChatGPT on this machine. Its tokens can be used once each: another program that uses them signs Codex out.</source>
        <translation>Codex 已在此计算机上用 ChatGPT 登录。它的令牌每个只能使用一次：其他程序使用它们会使 Codex 退出登录。</translation>
    </message>
    <message>
        <source>Commit something first.</source>
        <translation>请先提交一些内容。</translation>
    </message>
    <message>
        <source>Compression must be off, also in a gateway before it.</source>
        <translation>必须关闭压缩，包括其前面的网关。</translation>
    </message>
    <message>
        <source>Copy the part that the model may read into another file, and include that file.</source>
        <translation>请将模型可以读取的部分复制到另一个文件，然后附上该文件。</translation>
    </message>
    <message>
        <source>ELF file</source>
        <translation>ELF 文件</translation>
    </message>
    <message>
        <source>ELF object file</source>
        <translation>ELF 目标文件</translation>
    </message>
    <message>
        <source>ELF program</source>
        <translation>ELF 程序</translation>
    </message>
    <message>
        <source>ELF program or shared library</source>
        <translation>ELF 程序或共享库</translation>
    </message>
    <message>
        <source>Enter a key in Settings, or run `{0}`{1}.</source>
        <translation>请在设置中输入，或运行 `{0}`{1}。</translation>
    </message>
    <message>
        <source>Everything before that record is intact. The incomplete record was saved.</source>
        <translation>在它之前的一切都在。其残余部分已保留。</translation>
    </message>
    <message>
        <source>Export the conversation or its changes to a file</source>
        <translation>将对话或其更改写入您的文件</translation>
    </message>
    <message>
        <source>FLAC audio</source>
        <translation>FLAC 音频</translation>
    </message>
    <message>
        <source>Files that it changed there are not in the review.</source>
        <translation>在那里更改的文件不在审阅中。</translation>
    </message>
    <message>
        <source>Files that it runs are not as you trusted them, so it was not started.</source>
        <translation>它要运行的文件与您信任时的不同，因此未启动。</translation>
    </message>
    <message>
        <source>Files that the agent {0} runs are not as you trusted them, so it was not started.</source>
        <translation>代理 {0} 要运行的文件与您信任时的不同，因此未启动。</translation>
    </message>
    <message>
        <source>Fix {0} first, or ignore it.</source>
        <translation>请先修正 {0}，或忽略它。</translation>
    </message>
    <message>
        <source>Fix {0} first.</source>
        <translation>请先修正 {0}。</translation>
    </message>
    <message>
        <source>For one that your organisation made, let SSL_CERT_FILE name the file with its authority.</source>
        <translation>如果是您的组织签发的，请让 SSL_CERT_FILE 指向包含其证书颁发机构的文件。</translation>
    </message>
    <message>
        <source>Free some disk space.</source>
        <translation>请释放一些磁盘空间。</translation>
    </message>
    <message>
        <source>GIF image</source>
        <translation>GIF 图像</translation>
    </message>
    <message>
        <source>Get a token from the service, and give it as a header: --header &apos;Authorization=Bearer …&apos;.</source>
        <translation>请从该服务获取令牌，并作为标头提供：--header &apos;Authorization=Bearer …&apos;。</translation>
    </message>
    <message>
        <source>Get one in LM Studio, or with `lms get NAME`.</source>
        <translation>请在 LM Studio 中下载，或使用 `lms get NAME`。</translation>
    </message>
    <message>
        <source>Get one with `ollama pull NAME`.</source>
        <translation>请用 `ollama pull NAME` 下载一个。</translation>
    </message>
    <message>
        <source>Get them with `git pull`, and push then.</source>
        <translation>请先用 `git pull` 获取这些提交，然后再推送。</translation>
    </message>
    <message>
        <source>Git ignores it.</source>
        <translation>Git 忽略它。</translation>
    </message>
    <message>
        <source>Git no longer has its earlier content.</source>
        <translation>git 曾有其先前的内容，但现在已没有。</translation>
    </message>
    <message>
        <source>Give it a key as a secret variable, with `{0}`. Then try again.</source>
        <translation>请用 `{0}` 以机密变量的形式提供密钥，然后重试。</translation>
    </message>
    <message>
        <source>Go back to before TURN, by default with conversation and files; without TURN, list the turns</source>
        <translation>回到 TURN 之前，默认包含两者；不写 TURN 则列出轮次</translation>
    </message>
    <message>
        <source>HDF5 data</source>
        <translation>HDF5 数据</translation>
    </message>
    <message>
        <source>HEAD does not have this file. Commit the file itself with git first.</source>
        <translation>HEAD 中没有此文件。请先用 Git 提交该文件。</translation>
    </message>
    <message>
        <source>HEAD has another file at this path.</source>
        <translation>HEAD 在此路径有另一个文件。</translation>
    </message>
    <message>
        <source>HEAD has other lines in the same place.</source>
        <translation>HEAD 在同一位置有不同的行。</translation>
    </message>
    <message>
        <source>HEAD has these changes already.</source>
        <translation>HEAD 已包含这些更改。</translation>
    </message>
    <message>
        <source>HEAD was moved meanwhile, or cannot be moved.</source>
        <translation>HEAD 已被移动，或无法移动。</translation>
    </message>
    <message>
        <source>HEIC image</source>
        <translation>HEIC 图像</translation>
    </message>
    <message>
        <source>Has ended. The agent reads its report before its next step.</source>
        <translation>已结束。代理会在下一步之前阅读它的报告。</translation>
    </message>
    <message>
        <source>Headers have only letters of ASCII, in one line.</source>
        <translation>标头只能包含 ASCII 字符，且为一行。</translation>
    </message>
    <message>
        <source>If something is missing, send “go on”.</source>
        <translation>如果缺少内容，请说“继续”。</translation>
    </message>
    <message>
        <source>If that is {0}, enter its key in Settings.</source>
        <translation>如果那是 {0}，请在设置中输入其密钥。</translation>
    </message>
    <message>
        <source>If {0} is right, enter it as the model&apos;s address in Settings or with --base-url.</source>
        <translation>如果 {0} 正确，请在设置中或用 --base-url 将其填为模型的地址。</translation>
    </message>
    <message>
        <source>If {0} runs on another port, add an account with its address in Settings.</source>
        <translation>如果 {0} 在其他端口运行，请在设置中添加带有其地址的账户。</translation>
    </message>
    <message>
        <source>Input schema:</source>
        <translation>输入模式：</translation>
    </message>
    <message>
        <source>Inspects pages in Chrome: console, network, performance.</source>
        <translation>检查 Chrome 中的页面：控制台、网络、性能。</translation>
    </message>
    <message>
        <source>Install Docker, or give its whole path.</source>
        <translation>请安装 Docker，或给出其完整路径。</translation>
    </message>
    <message>
        <source>Install it, or give its whole path.</source>
        <translation>请安装它，或给出其完整路径。</translation>
    </message>
    <message>
        <source>Install it, or put it on your PATH.</source>
        <translation>请安装它，或将其加入 PATH。</translation>
    </message>
    <message>
        <source>Install them with {0}.</source>
        <translation>请用 {0} 安装。</translation>
    </message>
    <message>
        <source>Instructions written for other agents are used, too: {0}.</source>
        <translation>为其他智能体编写的指令也会使用：{0}。</translation>
    </message>
    <message>
        <source>It answered with a result of the kind {0}, which is not supported here.</source>
        <translation>它返回了类型为 {0} 的结果，此处不支持。</translation>
    </message>
    <message>
        <source>It answered with a task, which is not supported here.</source>
        <translation>它返回了一个任务，此处不支持。</translation>
    </message>
    <message>
        <source>It asked for no sign-in.</source>
        <translation>它没有要求登录。</translation>
    </message>
    <message>
        <source>It asks for the conversation as well, and does not get it.</source>
        <translation>它还请求对话内容，但不会得到。</translation>
    </message>
    <message>
        <source>It became a hard link to another file. A redo after an undo makes it a separate file.</source>
        <translation>它成为某个文件的另一个名称（硬链接）。撤销后重做会使其成为独立文件。</translation>
    </message>
    <message>
        <source>It belongs to another repository in the worktree.</source>
        <translation>它属于工作树中的另一个仓库。</translation>
    </message>
    <message>
        <source>It belongs to the repository in {0}.</source>
        <translation>它属于 {0} 中的仓库。</translation>
    </message>
    <message>
        <source>It can be used as it is: `desktop-agent mcp test NAME`.</source>
        <translation>可以直接使用：`desktop-agent mcp test NAME`。</translation>
    </message>
    <message>
        <source>It changed its tools and did not list them within {0} s.</source>
        <translation>它更改了工具，但未在 {0} 秒内列出。</translation>
    </message>
    <message>
        <source>It changed on disk or cannot be written. Nothing was changed.</source>
        <translation>它在磁盘上已更改，或无法写入。一切保持原样。</translation>
    </message>
    <message>
        <source>It comes with Node.js: install that, or give the whole path of npx.</source>
        <translation>它随 Node.js 提供：请安装 Node.js，或给出 npx 的完整路径。</translation>
    </message>
    <message>
        <source>It comes with uv: install that, or give the whole path of uvx.</source>
        <translation>它随 uv 提供：请安装 uv，或给出 uvx 的完整路径。</translation>
    </message>
    <message>
        <source>It compressed its answer, although it was asked not to, so the answer was not read.</source>
        <translation>它压缩了回答，尽管被要求不要压缩，因此未读取该回答。</translation>
    </message>
    <message>
        <source>It could not be confined, so it was not started: {0}</source>
        <translation>无法对其进行限制，因此未启动：{0}</translation>
    </message>
    <message>
        <source>It could not be reached: {0}.</source>
        <translation>无法连接：{0}。</translation>
    </message>
    <message>
        <source>It could not be started: {0}</source>
        <translation>无法启动：{0}</translation>
    </message>
    <message>
        <source>It did not answer within {0} s of its start.</source>
        <translation>它在启动后 {0} 秒内没有回答。</translation>
    </message>
    <message>
        <source>It did not answer within {0} s.</source>
        <translation>它未在 {0} 秒内应答。</translation>
    </message>
    <message>
        <source>It did not stop when it was asked to.</source>
        <translation>被要求停止时它没有停止。</translation>
    </message>
    <message>
        <source>It does not read what it is sent.</source>
        <translation>它不读取发送给它的内容。</translation>
    </message>
    <message>
        <source>It does not run.</source>
        <translation>它未运行。</translation>
    </message>
    <message>
        <source>It does not take the sign-in that its own authorisation server granted.</source>
        <translation>它不接受其自己的授权服务器授予的登录。</translation>
    </message>
    <message>
        <source>It ended by itself.</source>
        <translation>它自行结束了。</translation>
    </message>
    <message>
        <source>It ended with code {0}.</source>
        <translation>它以代码 {0} 结束。</translation>
    </message>
    <message>
        <source>It ended with exit code {0}.</source>
        <translation>它以退出码 {0} 结束。</translation>
    </message>
    <message>
        <source>It failed unexpectedly: {0}</source>
        <translation>它意外失败：{0}</translation>
    </message>
    <message>
        <source>It gave no answer.</source>
        <translation>它没有回答。</translation>
    </message>
    <message>
        <source>It has conflicts in the worktree. Resolve them there first.</source>
        <translation>它在工作树中有冲突。请先在那里解决。</translation>
    </message>
    <message>
        <source>It has many new files that were not copied. An undo leaves them in place.</source>
        <translation>其中有许多新文件，未保留副本。撤销会将它们留在那里。</translation>
    </message>
    <message>
        <source>It is a merge.</source>
        <translation>这是一个合并提交。</translation>
    </message>
    <message>
        <source>It is a picture that is too large for a model.</source>
        <translation>这张图片对模型来说太大。</translation>
    </message>
    <message>
        <source>It is a picture, and this session&apos;s model does not accept pictures.</source>
        <translation>这是图片，而此会话的模型不接受图片。</translation>
    </message>
    <message>
        <source>It is a picture{0} with {1} bytes, which is more than a model accepts.</source>
        <translation>这是图片{0}，{1} 字节，超出模型可接受的大小。</translation>
    </message>
    <message>
        <source>It is another program: it works with its own rights, outside the sandbox, in a git worktree of its own.</source>
        <translation>它是另一个程序：以自己的权限工作，不在沙盒内，并在自己的 git 工作树中工作。</translation>
    </message>
    <message>
        <source>It is not kept any more.</source>
        <translation>它已不再保留。</translation>
    </message>
    <message>
        <source>It is not known which remote to push to.</source>
        <translation>不清楚要推送到哪个远程仓库。</translation>
    </message>
    <message>
        <source>It is not signed in.</source>
        <translation>它尚未登录。</translation>
    </message>
    <message>
        <source>It is not the last commit any more.</source>
        <translation>它已不是最后一个提交。</translation>
    </message>
    <message>
        <source>It is only for the server&apos;s own interactive view, which is not shown here.</source>
        <translation>它仅用于服务器自己的交互视图，此处不显示。</translation>
    </message>
    <message>
        <source>It is sent there only. Take the account out and sign in again, or use a key.</source>
        <translation>它只会发送到那里。请移除该账户并重新登录，或使用密钥。</translation>
    </message>
    <message>
        <source>It is the worktree {0}. `desktop-agent worktrees restore {1}` puts it back.</source>
        <translation>这是工作树 {0}。`desktop-agent worktrees restore {1}` 可将其恢复。</translation>
    </message>
    <message>
        <source>It is tried again in {0} s.</source>
        <translation>将在 {0} 秒后重试。</translation>
    </message>
    <message>
        <source>It is tried again when it is needed. Its own log says more.</source>
        <translation>需要时会再次尝试。它自己的日志中有更多信息。</translation>
    </message>
    <message>
        <source>It keeps its context by itself.</source>
        <translation>它自行管理上下文。</translation>
    </message>
    <message>
        <source>It leads to another authorisation server than {0}.</source>
        <translation>它指向了不同于 {0} 的授权服务器。</translation>
    </message>
    <message>
        <source>It may have a mode of its own for that, among its options.</source>
        <translation>它的选项中可能有相应的模式。</translation>
    </message>
    <message>
        <source>It may have an option for it.</source>
        <translation>它可能有相应的选项。</translation>
    </message>
    <message>
        <source>It must be a PEM without a passphrase.</source>
        <translation>它必须是没有口令的 PEM。</translation>
    </message>
    <message>
        <source>It must be of RSA, of a NIST curve, or Ed25519.</source>
        <translation>它必须使用 RSA、NIST 曲线或 Ed25519。</translation>
    </message>
    <message>
        <source>It must run in the sandbox, and nothing here confines servers, so it was not started.</source>
        <translation>它必须在沙盒中运行，而此处无法限制服务器，因此未启动。</translation>
    </message>
    <message>
        <source>It must run in the sandbox, and this machine has none.</source>
        <translation>它必须在沙盒中运行，而此计算机没有沙盒。</translation>
    </message>
    <message>
        <source>It names {0}, on this machine, for the sign-in. Nothing was sent there.</source>
        <translation>它为登录指定了本机上的 {0}。未向那里发送任何内容。</translation>
    </message>
    <message>
        <source>It needs you to allow more: {0}.</source>
        <translation>它需要您授予更多权限：{0}。</translation>
    </message>
    <message>
        <source>It needs you to sign in.</source>
        <translation>它需要您登录。</translation>
    </message>
    <message>
        <source>It prefers a certain kind of model, which is ignored.</source>
        <translation>它偏好某类模型，此偏好会被忽略。</translation>
    </message>
    <message>
        <source>It printed more than {0} MiB, and was ended.</source>
        <translation>它输出超过 {0} MiB，已被终止。</translation>
    </message>
    <message>
        <source>It runs only as a task, which is not supported here.</source>
        <translation>它只能作为任务运行，此处不支持。</translation>
    </message>
    <message>
        <source>It said more than {0} MiB in one turn.</source>
        <translation>它在一个回合中输出了超过 {0} MiB。</translation>
    </message>
    <message>
        <source>It sends more messages than can be read.</source>
        <translation>它发送的消息多到无法读取。</translation>
    </message>
    <message>
        <source>It sent a message of more than {0} MiB.</source>
        <translation>它发送了超过 {0} MiB 的消息。</translation>
    </message>
    <message>
        <source>It sets a temperature or stop sequences, which are ignored.</source>
        <translation>它设置了温度或停止序列，这些会被忽略。</translation>
    </message>
    <message>
        <source>It should begin with https:// or ssh://, or be written as user@host:path.</source>
        <translation>它应以 https:// 或 ssh:// 开头，或写作 user@host:path。</translation>
    </message>
    <message>
        <source>It speaks version {0} of the protocol, which is not known here.</source>
        <translation>它使用协议版本 {0}，此处不识别。</translation>
    </message>
    <message>
        <source>It takes a key in {0}: `{1}` puts it into your keyring.</source>
        <translation>它通过 {0} 接受密钥：`{1}` 会把密钥存入您的密钥环。</translation>
    </message>
    <message>
        <source>It took longer than {0} s, and was ended.</source>
        <translation>它用时超过 {0} 秒，已被终止。</translation>
    </message>
    <message>
        <source>It took too long.</source>
        <translation>耗时过长。</translation>
    </message>
    <message>
        <source>It wants a credential, and does not say in a valid way where to sign in.</source>
        <translation>它要求凭据，但没有以有效方式说明在哪里登录。</translation>
    </message>
    <message>
        <source>It wants up to {0} tokens of answer, and gets {1}.</source>
        <translation>它想要最多 {0} 个 token 的回答，将得到 {1} 个。</translation>
    </message>
    <message>
        <source>It was a hard link to a file that is not a regular file of this folder, and that file keeps the previous content.</source>
        <translation>其另一个名称（硬链接）不是此文件夹的普通文件，保留原有内容。</translation>
    </message>
    <message>
        <source>It was a hard link to another file. An undo restores it as a separate file.</source>
        <translation>它曾是某个文件的另一个名称（硬链接）。撤销会将其恢复为独立文件。</translation>
    </message>
    <message>
        <source>It was a hard link to the same file as {0}, which keeps the previous content.</source>
        <translation>它与 {0} 曾是同一文件（硬链接），后者保留原有内容。</translation>
    </message>
    <message>
        <source>It was changed at that very moment, so it was left alone.</source>
        <translation>它恰在此时被更改；该版本保留不动。</translation>
    </message>
    <message>
        <source>It was changed since, so it was left alone.</source>
        <translation>此后已更改；该版本保留不动。</translation>
    </message>
    <message>
        <source>It was ended by signal {0}.</source>
        <translation>它被信号 {0} 终止。</translation>
    </message>
    <message>
        <source>It was restarted in the meantime.</source>
        <translation>在此期间它已重新启动。</translation>
    </message>
    <message>
        <source>It was stopped before it was ready.</source>
        <translation>它在就绪之前已被停止。</translation>
    </message>
    <message>
        <source>It was stopped.</source>
        <translation>它已被停止。</translation>
    </message>
    <message>
        <source>It, or a script of it, changed since you trusted it, so it did not run.</source>
        <translation>自您信任它以来，它或其脚本已更改，因此未运行。</translation>
    </message>
    <message>
        <source>Its URL is not a web address.</source>
        <translation>其 URL 不是网址。</translation>
    </message>
    <message>
        <source>Its answer cannot be read.</source>
        <translation>无法读取其回答。</translation>
    </message>
    <message>
        <source>Its answer cannot be used: {0}.</source>
        <translation>无法使用其回答：{0}。</translation>
    </message>
    <message>
        <source>Its answer does not follow the protocol.</source>
        <translation>其回答不符合协议。</translation>
    </message>
    <message>
        <source>Its answer does not follow the protocol; it may be a web page.</source>
        <translation>其回答不符合协议；可能是一个网页。</translation>
    </message>
    <message>
        <source>Its answer is not valid JSON.</source>
        <translation>其回答不是有效的 JSON。</translation>
    </message>
    <message>
        <source>Its authorisation server does not register this application.</source>
        <translation>其授权服务器不注册此应用程序。</translation>
    </message>
    <message>
        <source>Its authorisation server refused to finish the sign-in.</source>
        <translation>其授权服务器拒绝完成登录。</translation>
    </message>
    <message>
        <source>Its changes so far are kept. Raise the cost limit, or continue the session.</source>
        <translation>此前所做的会保留。请允许更高费用，或继续会话。</translation>
    </message>
    <message>
        <source>Its log says which. While it is downloaded it reaches {0} and sees no files.</source>
        <translation>其日志会说明是哪一种。下载期间它可访问 {0}，看不到任何文件。</translation>
    </message>
    <message>
        <source>Its next requests are sent without an effort. Choose another model, or reset the effort with /effort default.</source>
        <translation>之后的请求不再发送它。请选择其他模型，或用 /effort default 恢复默认。</translation>
    </message>
    <message>
        <source>Its options are known once it has started, with the first message.</source>
        <translation>它在收到第一条消息时启动，之后才知道它有哪些选项。</translation>
    </message>
    <message>
        <source>Its secrets are in the keyring, which is not asked here.</source>
        <translation>其机密信息在密钥环中，此处不会读取。</translation>
    </message>
    <message>
        <source>Its servers wait until you allow it again: Settings, Plugins.</source>
        <translation>在您再次允许之前，它的服务器会一直等待：设置 › 插件。</translation>
    </message>
    <message>
        <source>Its submodules are empty. `git submodule update --init` in the worktree fills them.</source>
        <translation>其子模块为空。在工作树中运行 `git submodule update --init` 可填充它们。</translation>
    </message>
    <message>
        <source>JPEG 2000 image</source>
        <translation>JPEG 2000 图像</translation>
    </message>
    <message>
        <source>JPEG XL image</source>
        <translation>JPEG XL 图像</translation>
    </message>
    <message>
        <source>JPEG image</source>
        <translation>JPEG 图像</translation>
    </message>
    <message>
        <source>Java class</source>
        <translation>Java 类</translation>
    </message>
    <message>
        <source>Keep a text in the model&apos;s context, even after compactions</source>
        <translation>让模型始终看到某段文本，总结之后也不例外</translation>
    </message>
    <message>
        <source>Known providers: {0}.</source>
        <translation>已知的提供商：{0}。</translation>
    </message>
    <message>
        <source>Leave these files out, or bring them back from one worktree, where each clash can be settled.</source>
        <translation>请排除这些文件，或从单个工作树取回它们，在那里可以逐一解决冲突。</translation>
    </message>
    <message>
        <source>Left out for this model: {0}. The conversation itself keeps everything.</source>
        <translation>为其省略：{0}。未移除任何内容：省略的内容仍在此处。</translation>
    </message>
    <message>
        <source>Let the agent write one: switch on planning, and say what you want.</source>
        <translation>让代理写一份计划：打开规划模式，并说明您的需求。</translation>
    </message>
    <message>
        <source>Let {0} do this: {1}?</source>
        <translation>允许 {0} 执行此操作：{1}？</translation>
    </message>
    <message>
        <source>Look again in a moment, or restart {0}.</source>
        <translation>请稍后再看，或重启 {0}。</translation>
    </message>
    <message>
        <source>Look again in a moment.</source>
        <translation>请稍后再看。</translation>
    </message>
    <message>
        <source>Look at the variants again, then choose.</source>
        <translation>请重新查看各方案，然后再选择。</translation>
    </message>
    <message>
        <source>Look at them, and trust the project again: Settings, Project, or `desktop-agent config trust`.</source>
        <translation>请查看这些文件，然后再次信任该项目：设置 › 项目，或 `desktop-agent config trust`。</translation>
    </message>
    <message>
        <source>MCP servers over HTTP</source>
        <translation>通过 HTTP 连接的 MCP 服务器</translation>
    </message>
    <message>
        <source>MP3 audio</source>
        <translation>MP3 音频</translation>
    </message>
    <message>
        <source>MP4 media</source>
        <translation>MP4 媒体</translation>
    </message>
    <message>
        <source>Make a branch first.</source>
        <translation>请先新建一个分支。</translation>
    </message>
    <message>
        <source>Make one with `git init`.</source>
        <translation>请用 `git init` 创建一个。</translation>
    </message>
    <message>
        <source>Matroska or WebM video</source>
        <translation>Matroska 或 WebM 视频</translation>
    </message>
    <message>
        <source>Move away what is there, and try again.</source>
        <translation>请移走那里的内容，然后重试。</translation>
    </message>
    <message>
        <source>Move it away, then try again.</source>
        <translation>请将其移走，然后重试。</translation>
    </message>
    <message>
        <source>Move it back with `git worktree move {0} {1}`.</source>
        <translation>请用 `git worktree move {0} {1}` 将其移回。</translation>
    </message>
    <message>
        <source>Move it back with `git worktree move`, or remove it with `git worktree remove`.</source>
        <translation>请用 `git worktree move` 将其移回，或用 `git worktree remove` 将其移除。</translation>
    </message>
    <message>
        <source>Name one in the settings, or with --model.</source>
        <translation>请在设置中或用 --model 指定一个。</translation>
    </message>
    <message>
        <source>Name one with `git config remote.pushDefault`.</source>
        <translation>请用 `git config remote.pushDefault` 指定一个。</translation>
    </message>
    <message>
        <source>Name the plugin&apos;s folder in the repository.</source>
        <translation>请指定插件在仓库中的文件夹。</translation>
    </message>
    <message>
        <source>No agent is named.</source>
        <translation>未指定代理。</translation>
    </message>
    <message>
        <source>No agent of another program is running.</source>
        <translation>没有正在运行的其他程序的代理。</translation>
    </message>
    <message>
        <source>No branch is checked out, so there is nothing to push.</source>
        <translation>没有检出任何分支，因此没有可推送的内容。</translation>
    </message>
    <message>
        <source>No model can be asked here.</source>
        <translation>此处无法询问模型。</translation>
    </message>
    <message>
        <source>No model can write the message.</source>
        <translation>没有模型可以撰写说明。</translation>
    </message>
    <message>
        <source>No plugin named {0} was added.</source>
        <translation>未添加名为 {0} 的插件。</translation>
    </message>
    <message>
        <source>No profile of Anthropic&apos;s tools is signed in.</source>
        <translation>Anthropic 的工具没有带登录信息的配置文件。</translation>
    </message>
    <message>
        <source>No such change to {0} is recorded.</source>
        <translation>没有 {0} 的此项更改记录。</translation>
    </message>
    <message>
        <source>No turn of this session runs any more.</source>
        <translation>此会话中不再有回合在运行。</translation>
    </message>
    <message>
        <source>No user was there to allow it.</source>
        <translation>没有用户在场允许此操作。</translation>
    </message>
    <message>
        <source>None is defined: `desktop-agent {0} add` defines one.</source>
        <translation>尚未定义：可用 `desktop-agent {0} add` 定义。</translation>
    </message>
    <message>
        <source>Not everything could be removed.</source>
        <translation>未能全部移除。</translation>
    </message>
    <message>
        <source>Nothing is left of it.</source>
        <translation>没有留下任何内容。</translation>
    </message>
    <message>
        <source>Nothing listens at {0}.</source>
        <translation>{0} 上没有程序在监听。</translation>
    </message>
    <message>
        <source>Nothing of that name was pasted.</source>
        <translation>没有粘贴过这个名称的内容。</translation>
    </message>
    <message>
        <source>Nothing was changed.</source>
        <translation>未做任何更改。</translation>
    </message>
    <message>
        <source>Nothing was changed. Check it with `git fsck`.</source>
        <translation>未做任何更改。请用 `git fsck` 检查。</translation>
    </message>
    <message>
        <source>Nothing was changed. Commit or stash what would be lost, and switch then.</source>
        <translation>没有更改任何内容。请先提交或贮藏（stash）会丢失的更改，然后再切换。</translation>
    </message>
    <message>
        <source>Nothing was committed.</source>
        <translation>没有提交任何内容。</translation>
    </message>
    <message>
        <source>Nothing was done. Restore the folder, or send another message to continue in the folder that is there now.</source>
        <translation>那里没有做任何更改。请把文件夹放回原处，或再发送一条消息，在现在位于那里的文件夹中继续。</translation>
    </message>
    <message>
        <source>Nothing was done. Restore the folder, or start a new conversation in another one.</source>
        <translation>没有做任何更改。请把文件夹放回原处，或在其他文件夹中开始新的对话。</translation>
    </message>
    <message>
        <source>Nothing was done. Restore the folder, or start a new conversation in the folder that the link points to.</source>
        <translation>未执行任何操作。请把文件夹放回原处，或在链接指向的文件夹中开始新的对话。</translation>
    </message>
    <message>
        <source>Nothing was done. Restore the folder. To continue in the one that is there now, send another message; on the command line, add --accept-folder.</source>
        <translation>那里没有做任何更改。请把文件夹放回原处。若要在现在位于那里的文件夹中继续，请再发送一条消息；在命令行中请加上 --accept-folder。</translation>
    </message>
    <message>
        <source>Nothing was renamed. Rename it in a file manager or the terminal; that cannot be undone here.</source>
        <translation>未重命名任何内容。可用文件管理器或终端完成，但此处无法撤销。</translation>
    </message>
    <message>
        <source>Nothing was rewound.</source>
        <translation>未撤回任何内容。</translation>
    </message>
    <message>
        <source>Nothing was saved. Sign in again and allow it, or use an API key.</source>
        <translation>未保存任何内容。请重新登录并允许，或使用 API 密钥。</translation>
    </message>
    <message>
        <source>Nothing was sent. Send the message again to use the new address.</source>
        <translation>未发送任何内容。请重新发送消息，它将发往那里。</translation>
    </message>
    <message>
        <source>Nothing was sent: the proxy {0} could read and change everything.</source>
        <translation>未发送任何内容：代理 {0} 可以读取和更改一切。</translation>
    </message>
    <message>
        <source>Nothing was sent: {0} is not encrypted, so others on the way could read and change everything.</source>
        <translation>未发送任何内容：{0} 未加密，途中的其他人可以读取和更改一切。</translation>
    </message>
    <message>
        <source>NumPy array</source>
        <translation>NumPy 数组</translation>
    </message>
    <message>
        <source>Office document</source>
        <translation>Office 文档</translation>
    </message>
    <message>
        <source>Ogg media</source>
        <translation>Ogg 媒体</translation>
    </message>
    <message>
        <source>OpenDocument file</source>
        <translation>OpenDocument 文件</translation>
    </message>
    <message>
        <source>OpenType font</source>
        <translation>OpenType 字体</translation>
    </message>
    <message>
        <source>PDF document</source>
        <translation>PDF 文档</translation>
    </message>
    <message>
        <source>PNG image</source>
        <translation>PNG 图像</translation>
    </message>
    <message>
        <source>Parquet data</source>
        <translation>Parquet 数据</translation>
    </message>
    <message>
        <source>Paste it again.</source>
        <translation>请重新粘贴。</translation>
    </message>
    <message>
        <source>Perhaps it is not signed in. {0}</source>
        <translation>它可能尚未登录。{0}</translation>
    </message>
    <message>
        <source>Photoshop image</source>
        <translation>Photoshop 图像</translation>
    </message>
    <message>
        <source>Plan updated.</source>
        <translation>计划已更新。</translation>
    </message>
    <message>
        <source>Plan with a model, or in its own mode.</source>
        <translation>请用模型来规划，或使用它自己的模式。</translation>
    </message>
    <message>
        <source>Pushing to {0} failed.</source>
        <translation>推送到 {0} 失败。</translation>
    </message>
    <message>
        <source>Python bytecode</source>
        <translation>Python 字节码</translation>
    </message>
    <message>
        <source>RAR archive</source>
        <translation>RAR 归档</translation>
    </message>
    <message>
        <source>Raise startup_timeout_ms if it only needs longer to start.</source>
        <translation>如果它只是启动较慢，请增大 startup_timeout_ms。</translation>
    </message>
    <message>
        <source>Redo the last undo exactly, or what you name; `steps` lists the undos</source>
        <translation>精确收回上次撤销，或您指定的撤销；`steps` 列出各次撤销</translation>
    </message>
    <message>
        <source>Register it there by hand, and add the server again with --client-id. Or get a token from the service, and give it as a header: --header &apos;Authorization=Bearer …&apos;.</source>
        <translation>请在那里手动注册，并用 --client-id 重新添加服务器。或者从该服务获取令牌，并作为标头提供：--header &apos;Authorization=Bearer …&apos;。</translation>
    </message>
    <message>
        <source>Remove it first: `desktop-agent plugins remove {0}`.</source>
        <translation>请先移除它：`desktop-agent plugins remove {0}`。</translation>
    </message>
    <message>
        <source>Remove it first: `desktop-agent {0} remove {1}`.</source>
        <translation>请先移除它：`desktop-agent {0} remove {1}`。</translation>
    </message>
    <message>
        <source>Remove it first: `{0}`.</source>
        <translation>请先将其移除：`{0}`。</translation>
    </message>
    <message>
        <source>Remove the agent, and add it again with --secret {0}.</source>
        <translation>请移除该代理，然后使用 --secret {0} 重新添加。</translation>
    </message>
    <message>
        <source>Remove the server, and add it again with --client-secret.</source>
        <translation>请移除服务器，并用 --client-secret 重新添加。</translation>
    </message>
    <message>
        <source>Remove the server, and add it again with another one.</source>
        <translation>请移除服务器，并换一个重新添加。</translation>
    </message>
    <message>
        <source>Restart it when the cause is fixed.</source>
        <translation>原因排除后请重新启动它。</translation>
    </message>
    <message>
        <source>Revert it with git.</source>
        <translation>请用 Git 还原它。</translation>
    </message>
    <message>
        <source>Run `git init`, `git add -A` and `git commit -m first` there, then try again.</source>
        <translation>请在其中运行 `git init`、`git add -A` 和 `git commit -m first`，然后重试。</translation>
    </message>
    <message>
        <source>Runs outside the sandbox, as in your terminal.</source>
        <translation>在沙盒之外运行，与在您的终端中一样。</translation>
    </message>
    <message>
        <source>SQLite database</source>
        <translation>SQLite 数据库</translation>
    </message>
    <message>
        <source>SVG image</source>
        <translation>SVG 图像</translation>
    </message>
    <message>
        <source>Save it as a file in the folder, and mention that.</source>
        <translation>请将其保存为文件夹中的文件，然后提及该文件。</translation>
    </message>
    <message>
        <source>Scanning the folder took longer than {0} s; {1} folders and their contents are not watched.</source>
        <translation>扫描文件夹超过 {0} 秒；{1} 个文件夹及其内容不受监视。</translation>
    </message>
    <message>
        <source>Set what is missing in the account or in the environment. {0}</source>
        <translation>请在账户或环境中补充缺少的内容。{0}</translation>
    </message>
    <message>
        <source>Set {0} in the account or in the environment.</source>
        <translation>请在账户或环境中设置 {0}。</translation>
    </message>
    <message>
        <source>Set {0} to a {1}, or unset it to use the certificates of the system.</source>
        <translation>请将 {0} 设为 {1}，或取消设置以使用系统的证书。</translation>
    </message>
    <message>
        <source>Set {0} to http://host:port or https://host:port, or unset it. SOCKS proxies are not supported.</source>
        <translation>请将 {0} 设为 http://host:port 或 https://host:port，或取消设置。不支持 SOCKS 代理。</translation>
    </message>
    <message>
        <source>Several files had this path one after another. Undo all of its changes, or choose between the versions.</source>
        <translation>先后有多个文件使用过此路径。请全部撤销，或在各版本之间选择。</translation>
    </message>
    <message>
        <source>Sign in again. If it happens again, do not use this server.</source>
        <translation>请重新登录。如果再次发生，请不要使用此服务器。</translation>
    </message>
    <message>
        <source>Sign in again: `desktop-agent mcp sign-in {0}`.</source>
        <translation>请重新登录：`desktop-agent mcp sign-in {0}`。</translation>
    </message>
    <message>
        <source>Sign in again: in Settings, or with `desktop-agent auth sign-in openai`.</source>
        <translation>请重新登录：在“设置”中，或使用 `desktop-agent auth sign-in openai`。</translation>
    </message>
    <message>
        <source>Sign in with ChatGPT here as well. It uses the same plan, and Codex stays signed in.</source>
        <translation>也请在此处用 ChatGPT 登录。它使用同一套餐，Codex 会保持登录。</translation>
    </message>
    <message>
        <source>Sign in with `ant auth login`, or use a key.</source>
        <translation>请用 `ant auth login` 创建，或使用密钥。</translation>
    </message>
    <message>
        <source>Sign in with `aws sso login`, or set up access with `aws configure`.</source>
        <translation>请用 `aws sso login` 登录，或用 `aws configure` 设置访问权限。</translation>
    </message>
    <message>
        <source>Sign in with `az login`, or use a key of the resource.</source>
        <translation>请用 `az login` 登录，或使用该资源的密钥。</translation>
    </message>
    <message>
        <source>Sign in with `gcloud auth application-default login`, or name a key file in GOOGLE_APPLICATION_CREDENTIALS.</source>
        <translation>请用 `gcloud auth application-default login` 登录，或在 GOOGLE_APPLICATION_CREDENTIALS 中指定密钥文件。</translation>
    </message>
    <message>
        <source>Sign in with git in a terminal, or load your key into the SSH agent.</source>
        <translation>请在终端中用 git 登录，或将密钥加载到 SSH 代理。</translation>
    </message>
    <message>
        <source>Sign in, then try again. In a terminal, `{0}` does it.</source>
        <translation>请登录后重试。在终端中可用 `{0}` 登录。</translation>
    </message>
    <message>
        <source>Sign in: `desktop-agent auth sign-in {0} --account {1}`.</source>
        <translation>请登录：`desktop-agent auth sign-in {0} --account {1}`。</translation>
    </message>
    <message>
        <source>Sign in: `desktop-agent mcp sign-in {0}`.</source>
        <translation>请登录：`desktop-agent mcp sign-in {0}`。</translation>
    </message>
    <message>
        <source>Something else</source>
        <translation>其他程序</translation>
    </message>
    <message>
        <source>Something else is at {0}.</source>
        <translation>{0} 处有其他内容。</translation>
    </message>
    <message>
        <source>Something else is there now.</source>
        <translation>那里现在是其他内容。</translation>
    </message>
    <message>
        <source>Something runs on {0} and does not answer.</source>
        <translation>{0} 上有程序在运行，但没有回答。</translation>
    </message>
    <message>
        <source>Start it with `llama-server -m MODEL.gguf`.</source>
        <translation>请用 `llama-server -m MODEL.gguf` 启动它。</translation>
    </message>
    <message>
        <source>Start it with `ollama serve`.</source>
        <translation>请用 `ollama serve` 启动它。</translation>
    </message>
    <message>
        <source>Start it with one: `llama-server -m MODEL.gguf`.</source>
        <translation>请带一个模型启动：`llama-server -m MODEL.gguf`。</translation>
    </message>
    <message>
        <source>Start its server with `lms server start`, or in its Developer tab.</source>
        <translation>请用 `lms server start` 或在其 Developer 标签页中启动其服务器。</translation>
    </message>
    <message>
        <source>Start some with “Try with…”.</source>
        <translation>请用“用多个模型尝试…”开始。</translation>
    </message>
    <message>
        <source>Start the proxy, or correct or unset {0}. The model at {1} was not reached.</source>
        <translation>请启动它，或更正或取消设置 {0}。未能连接 {1} 处的模型。</translation>
    </message>
    <message>
        <source>Start the server, or check the address.</source>
        <translation>请启动服务器，或检查地址。</translation>
    </message>
    <message>
        <source>Start {0} as a sub-agent?</source>
        <translation>要启动 {0} 作为子代理吗？</translation>
    </message>
    <message>
        <source>Stop the turn, or wait for its end.</source>
        <translation>停止本轮，或等待其结束。</translation>
    </message>
    <message>
        <source>Summarise the older part of the conversation, keeping FOCUS above all</source>
        <translation>总结对话较早的部分，优先保留 FOCUS</translation>
    </message>
    <message>
        <source>Switching to the branch {0} failed.</source>
        <translation>切换到分支 {0} 失败。</translation>
    </message>
    <message>
        <source>TIFF image</source>
        <translation>TIFF 图像</translation>
    </message>
    <message>
        <source>Take from {0}.</source>
        <translation>采用 {0} 的更改。</translation>
    </message>
    <message>
        <source>Take these lines from only one of them.</source>
        <translation>这些行只能从其中一个采用。</translation>
    </message>
    <message>
        <source>The MCP server {0} broke off: {1}</source>
        <translation>MCP 服务器 {0} 中断：{1}</translation>
    </message>
    <message>
        <source>The MCP server {0} changed its tools and did not list them within {1} s.</source>
        <translation>MCP 服务器 {0} 更改了工具，但未在 {1} 秒内列出。</translation>
    </message>
    <message>
        <source>The MCP server {0} could not be started: {1}</source>
        <translation>无法启动 MCP 服务器 {0}：{1}</translation>
    </message>
    <message>
        <source>The MCP server {0} failed a moment ago: {1}</source>
        <translation>MCP 服务器 {0} 刚刚失败：{1}</translation>
    </message>
    <message>
        <source>The MCP server {0} failed {1} times in a row and is not tried any more.</source>
        <translation>MCP 服务器 {0} 连续失败 {1} 次，不再重试。</translation>
    </message>
    <message>
        <source>The agent did not make this change, or may not have made it. Commit it with git.</source>
        <translation>此更改不是或可能不是代理所做。请用 Git 提交它。</translation>
    </message>
    <message>
        <source>The agent did not make this change, so it was left alone. It is undone only when requested explicitly.</source>
        <translation>它不是代理所为，因此保留不动。只有单独要求时才会撤销。</translation>
    </message>
    <message>
        <source>The agent is working in this session, so the worktree was not removed.</source>
        <translation>代理正在此会话中工作，因此未移除工作树。</translation>
    </message>
    <message>
        <source>The agent is working, so nothing was summarised or undone.</source>
        <translation>代理正在工作，因此未总结或撤回任何内容。</translation>
    </message>
    <message>
        <source>The agent is working, so nothing was undone.</source>
        <translation>代理正在工作，因此未撤回任何内容。</translation>
    </message>
    <message>
        <source>The agent is working, so the branch stays.</source>
        <translation>代理正在工作，因此没有切换分支。</translation>
    </message>
    <message>
        <source>The agent is working.</source>
        <translation>代理正在工作。</translation>
    </message>
    <message>
        <source>The agent will not ask about this again.</source>
        <translation>代理不会再次询问此操作。</translation>
    </message>
    <message>
        <source>The agent {0} cannot be added: {1}.</source>
        <translation>无法添加智能体 {0}：{1}。</translation>
    </message>
    <message>
        <source>The agent {0} needs the program {1}.</source>
        <translation>代理 {0} 需要程序 {1}。</translation>
    </message>
    <message>
        <source>The agent&apos;s command line cannot be read: {0}.</source>
        <translation>无法读取代理的命令行：{0}。</translation>
    </message>
    <message>
        <source>The agent&apos;s turn ended before it said how this call ended.</source>
        <translation>代理的回合在说明此调用的结果之前就结束了。</translation>
    </message>
    <message>
        <source>The answer ended unexpectedly ({0}), so the call was not run.</source>
        <translation>回答因其他原因停止（{0}），因此未执行该调用。</translation>
    </message>
    <message>
        <source>The answer was broken off: it is larger than any model&apos;s answer.</source>
        <translation>回答已中断：它比任何模型的回答都大。</translation>
    </message>
    <message>
        <source>The branch has no commit yet, so there is nothing to push.</source>
        <translation>该分支还没有提交，因此没有可推送的内容。</translation>
    </message>
    <message>
        <source>The branch {0} was not made.</source>
        <translation>没有新建分支 {0}。</translation>
    </message>
    <message>
        <source>The browser&apos;s answer belongs to another sign-in, not to this one with {0}.</source>
        <translation>浏览器返回的是另一次登录的答复，而不是此次 {0} 登录的。</translation>
    </message>
    <message>
        <source>The certificate of {0} cannot be trusted.</source>
        <translation>无法信任 {0} 的证书。</translation>
    </message>
    <message>
        <source>The cleanup was stopped.</source>
        <translation>收集已停止。</translation>
    </message>
    <message>
        <source>The command that sets up the worktree failed with code {0}.</source>
        <translation>设置工作树的命令失败，退出码为 {0}。</translation>
    </message>
    <message>
        <source>The commit was pushed already.</source>
        <translation>该提交已被推送。</translation>
    </message>
    <message>
        <source>The commit was stopped.</source>
        <translation>提交已停止。</translation>
    </message>
    <message>
        <source>The connection to {0} is not trusted. Check the clock, the proxy and the address.</source>
        <translation>{0} 未提供可信的连接。请检查时钟、代理服务器和地址。</translation>
    </message>
    <message>
        <source>The connection with the server was lost.</source>
        <translation>与服务器的连接已断开。</translation>
    </message>
    <message>
        <source>The conversation could not be imported.</source>
        <translation>无法导入对话。</translation>
    </message>
    <message>
        <source>The copy changed after it was shown, so it was not added.</source>
        <translation>副本在显示后发生了变化，因此未添加。</translation>
    </message>
    <message>
        <source>The cost of its requests is not counted. Limits on requests and time still apply.</source>
        <translation>其请求不计入费用。请求数或时间限制仍然有效。</translation>
    </message>
    <message>
        <source>The credential may lack a right, or the server may be closed to this network.</source>
        <translation>凭据可能缺少权限，或服务器可能不对此网络开放。</translation>
    </message>
    <message>
        <source>The credentials were refused.</source>
        <translation>凭据被拒绝。</translation>
    </message>
    <message>
        <source>The draft could not be saved.</source>
        <translation>无法保留此处书写的内容。</translation>
    </message>
    <message>
        <source>The export could not be written.</source>
        <translation>无法写入导出文件。</translation>
    </message>
    <message>
        <source>The fetched repository could not be read.</source>
        <translation>无法读取获取到的仓库。</translation>
    </message>
    <message>
        <source>The file could not be read.</source>
        <translation>无法读取文件。</translation>
    </message>
    <message>
        <source>The files in this folder exceed the limit of {0} MiB for copies.</source>
        <translation>文件夹超过保留副本的 {0} MiB 上限。</translation>
    </message>
    <message>
        <source>The files of its plugin have changed, so it was not started.</source>
        <translation>其插件的文件已更改，因此未启动。</translation>
    </message>
    <message>
        <source>The files of the worktree are in {0}.</source>
        <translation>工作树的文件位于 {0}。</translation>
    </message>
    <message>
        <source>The folder has other contents, so it was kept.</source>
        <translation>其中还有其他内容，因此已保留。</translation>
    </message>
    <message>
        <source>The folder is not in a git repository.</source>
        <translation>该文件夹不在 git 仓库中。</translation>
    </message>
    <message>
        <source>The folder of the worktree {0} belongs to another repository.</source>
        <translation>工作树 {0} 的文件夹属于另一个仓库。</translation>
    </message>
    <message>
        <source>The folder of the worktree {0} is gone.</source>
        <translation>工作树 {0} 的文件夹已不存在。</translation>
    </message>
    <message>
        <source>The folder was gone before this write could be verified.</source>
        <translation>在确认是否已写入之前，文件夹已不存在。</translation>
    </message>
    <message>
        <source>The folder {0} cannot be a workspace: it {1}.</source>
        <translation>无法在文件夹 {0} 中工作（{1}）。</translation>
    </message>
    <message>
        <source>The folder {0} could not be moved.</source>
        <translation>无法移动文件夹 {0}。</translation>
    </message>
    <message>
        <source>The folder {0} is not the one that this conversation worked in, which was moved, removed or replaced.</source>
        <translation>文件夹 {0} 不是此对话曾使用的文件夹：那个文件夹已被移走、删除或替换。</translation>
    </message>
    <message>
        <source>The folder&apos;s state before the command is no longer known, so the command&apos;s changes are not known either.</source>
        <translation>命令之前文件夹的内容已不得而知，因此其更改也无从得知。</translation>
    </message>
    <message>
        <source>The hook {0} refused the commit.</source>
        <translation>钩子 {0} 拒绝了该提交。</translation>
    </message>
    <message>
        <source>The identity that {0} sent does not belong to this sign-in. Nothing was saved.</source>
        <translation>{0} 发送的身份不属于此次登录。未保存任何内容。</translation>
    </message>
    <message>
        <source>The import could not be noted.</source>
        <translation>无法记录此次导入。</translation>
    </message>
    <message>
        <source>The index of git cannot be written.</source>
        <translation>无法写入 Git 的索引。</translation>
    </message>
    <message>
        <source>The key is not valid: it is empty or contains characters that keys do not have.</source>
        <translation>这不是密钥：为空，或含有密钥不会有的字符。</translation>
    </message>
    <message>
        <source>The keyring has no secret for its client_id.</source>
        <translation>密钥环中没有其 client_id 的密钥。</translation>
    </message>
    <message>
        <source>The keyring has no value for {0} of the agent {1}.</source>
        <translation>密钥环中没有代理 {1} 的 {0} 的值。</translation>
    </message>
    <message>
        <source>The list of models could not be kept.</source>
        <translation>无法保存模型列表。</translation>
    </message>
    <message>
        <source>The message could not be written.</source>
        <translation>无法撰写说明。</translation>
    </message>
    <message>
        <source>The message of the commit is empty.</source>
        <translation>提交信息为空。</translation>
    </message>
    <message>
        <source>The messages must begin and end with one of the user.</source>
        <translation>消息必须以用户的消息开始和结束。</translation>
    </message>
    <message>
        <source>The model declined to answer the sub-agent.</source>
        <translation>模型拒绝回答子代理。</translation>
    </message>
    <message>
        <source>The model declined to answer.</source>
        <translation>模型拒绝回答。</translation>
    </message>
    <message>
        <source>The model is {0}. `/model PROVIDER/NAME` chooses another, `/model PROVIDER/NAME ACCOUNT` another account as well; providers: {1}. `/model {2}/NAME` chooses an agent of another program.</source>
        <translation>模型是 {0}。`/model PROVIDER/NAME` 选择另一个模型，`/model PROVIDER/NAME ACCOUNT` 同时选择另一个账户；提供商：{1}。`/model {2}/NAME` 选择另一个程序的代理。</translation>
    </message>
    <message>
        <source>The model was asked {0} times in this call, and no more.</source>
        <translation>在此次调用中，模型已被询问 {0} 次，不能再多。</translation>
    </message>
    <message>
        <source>The model wrote no message.</source>
        <translation>模型没有写出说明。</translation>
    </message>
    <message>
        <source>The name in {0} is unknown.</source>
        <translation>{0} 中的名称未知。</translation>
    </message>
    <message>
        <source>The name of this installation could not be kept, which the sign-in needs.</source>
        <translation>无法保存登录所需的此安装的名称。</translation>
    </message>
    <message>
        <source>The output is kept only while the session is open.</source>
        <translation>仅在会话打开期间保留。</translation>
    </message>
    <message>
        <source>The plan stays as it is, because a turn is running.</source>
        <translation>一轮对话正在运行，因此计划保持不变。</translation>
    </message>
    <message>
        <source>The plugin could not be added.</source>
        <translation>无法添加插件。</translation>
    </message>
    <message>
        <source>The plugin could not be copied.</source>
        <translation>无法复制插件。</translation>
    </message>
    <message>
        <source>The plugin could not be removed.</source>
        <translation>无法移除插件。</translation>
    </message>
    <message>
        <source>The private key for its client_id cannot be used.</source>
        <translation>无法使用其 client_id 的私钥。</translation>
    </message>
    <message>
        <source>The profile is for {0} now. Sign out of the account and in again.</source>
        <translation>该配置文件现在用于 {0}。请退出该账户，然后重新登录。</translation>
    </message>
    <message>
        <source>The project&apos;s settings have a mistake, so they cannot be trusted as they are.</source>
        <translation>项目的设置有错误，因此无法按现状信任它们。</translation>
    </message>
    <message>
        <source>The provider did not finish this.</source>
        <translation>提供商没有完成这一项。</translation>
    </message>
    <message>
        <source>The provider ended the reply for an unknown reason.</source>
        <translation>提供商因未知原因结束了回答。</translation>
    </message>
    <message>
        <source>The proxy in {0} cannot be used.</source>
        <translation>无法使用 {0} 中的代理。</translation>
    </message>
    <message>
        <source>The proxy refused the connection.</source>
        <translation>代理拒绝了连接。</translation>
    </message>
    <message>
        <source>The proxy requires a user name and a password: http://user:password@host:port in {0}.</source>
        <translation>需要用户名和密码：在 {0} 中写 http://user:password@host:port。</translation>
    </message>
    <message>
        <source>The record of the variants cannot be written.</source>
        <translation>无法写入方案的记录。</translation>
    </message>
    <message>
        <source>The record of the worktree cannot be written.</source>
        <translation>无法写入工作树的记录。</translation>
    </message>
    <message>
        <source>The redo of turn {0} changed it since, so it was left alone.</source>
        <translation>第 {0} 轮的重做此后更改了它；该版本保留不动。</translation>
    </message>
    <message>
        <source>The repository could not be fetched.</source>
        <translation>无法获取该仓库。</translation>
    </message>
    <message>
        <source>The repository has no commit yet.</source>
        <translation>该仓库还没有提交。</translation>
    </message>
    <message>
        <source>The repository has no folder {0}.</source>
        <translation>仓库中没有文件夹 {0}。</translation>
    </message>
    <message>
        <source>The repository has too many files, or they are too large.</source>
        <translation>仓库中的文件过多或过大。</translation>
    </message>
    <message>
        <source>The repository is empty.</source>
        <translation>仓库是空的。</translation>
    </message>
    <message>
        <source>The repository is too large to be fetched.</source>
        <translation>仓库过大，无法获取。</translation>
    </message>
    <message>
        <source>The repository of the worktree {0} is not at {1} any more.</source>
        <translation>工作树 {0} 的仓库已不在 {1}。</translation>
    </message>
    <message>
        <source>The rule could not be revoked, so it still applies.</source>
        <translation>无法撤回规则，因此它仍然有效。</translation>
    </message>
    <message>
        <source>The rule could not be saved, so you will be asked again.</source>
        <translation>无法保存规则，因此会再次询问您。</translation>
    </message>
    <message>
        <source>The server asked again and again instead of answering.</source>
        <translation>服务器一再提问而不回答。</translation>
    </message>
    <message>
        <source>The server did not answer in time.</source>
        <translation>服务器没有及时回答。</translation>
    </message>
    <message>
        <source>The server did not answer within {0} s.</source>
        <translation>服务器在 {0} 秒内没有回答。</translation>
    </message>
    <message>
        <source>The server has forgotten this connection, so the call was not carried out.</source>
        <translation>服务器已忘记此连接，因此未执行调用。</translation>
    </message>
    <message>
        <source>The server reported a failure.</source>
        <translation>服务器报告了失败。</translation>
    </message>
    <message>
        <source>The server requires a key: enter it in Settings.</source>
        <translation>服务器需要密钥：请在设置中输入。</translation>
    </message>
    <message>
        <source>The server was silent for {0} s, so the call was cancelled.</source>
        <translation>服务器 {0} 秒没有响应，因此调用已取消。</translation>
    </message>
    <message>
        <source>The session of the worktree {0} is open.</source>
        <translation>工作树 {0} 的会话处于打开状态。</translation>
    </message>
    <message>
        <source>The sessions could not be listed.</source>
        <translation>无法列出会话。</translation>
    </message>
    <message>
        <source>The settings file could not be made.</source>
        <translation>无法创建设置文件。</translation>
    </message>
    <message>
        <source>The sign-in of {0} belongs to {1}, not to {2}.</source>
        <translation>{0} 的登录属于 {1}，而不是 {2}。</translation>
    </message>
    <message>
        <source>The sign-in service could not be reached.</source>
        <translation>无法连接到登录服务。</translation>
    </message>
    <message>
        <source>The spending limit is reached.</source>
        <translation>已达到支出上限。</translation>
    </message>
    <message>
        <source>The stored contents could not be listed.</source>
        <translation>无法列出存储的内容。</translation>
    </message>
    <message>
        <source>The sub-agent ended without a report.</source>
        <translation>子代理结束时没有给出报告。</translation>
    </message>
    <message>
        <source>The sub-agent needed an approval, and nobody could give it.</source>
        <translation>子代理需要批准，但没有人可以批准。</translation>
    </message>
    <message>
        <source>The sub-agent was stopped at a limit before it was done.</source>
        <translation>子代理在完成之前因达到限制而停止。</translation>
    </message>
    <message>
        <source>The sub-agent was stopped at its limit of requests before it was done.</source>
        <translation>子代理在完成之前因达到请求次数上限而停止。</translation>
    </message>
    <message>
        <source>The sub-agent was stopped before an answer came.</source>
        <translation>子代理在收到回答之前已停止。</translation>
    </message>
    <message>
        <source>The sub-agent works in the background. Its report comes to you as a message. Go on with what does not depend on it; if there is nothing else to do, end your answer: you are asked again when a report has come.</source>
        <translation>子代理在后台工作。它的报告会作为消息发给你。请继续做不依赖它的事；如果没有别的事可做，就结束你的回答：有报告时会再次询问你。</translation>
    </message>
    <message>
        <source>The turn ended before the sub-agent was done.</source>
        <translation>回合在子代理完成之前就结束了。</translation>
    </message>
    <message>
        <source>The undo of turn {0} changed it since, so it was left alone.</source>
        <translation>第 {0} 轮的撤销此后更改了它；该版本保留不动。</translation>
    </message>
    <message>
        <source>The use of a skill could not be noted.</source>
        <translation>无法记录技能的使用。</translation>
    </message>
    <message>
        <source>The user answered.</source>
        <translation>用户已回答。</translation>
    </message>
    <message>
        <source>The user cannot be asked this: {0}.</source>
        <translation>无法向用户提出此问题：{0}。</translation>
    </message>
    <message>
        <source>The user chose none of the options.</source>
        <translation>用户没有选择任何选项。</translation>
    </message>
    <message>
        <source>The user did not allow it.</source>
        <translation>用户未允许此操作。</translation>
    </message>
    <message>
        <source>The user did not answer.</source>
        <translation>用户没有回答。</translation>
    </message>
    <message>
        <source>The user stopped the sub-agent before it was done.</source>
        <translation>用户在子代理完成之前将其停止。</translation>
    </message>
    <message>
        <source>The user&apos;s settings let no server ask the model.</source>
        <translation>用户的设置不允许任何服务器询问模型。</translation>
    </message>
    <message>
        <source>The variant has changed since, so nothing was taken.</source>
        <translation>该方案此后已更改，因此未采用任何内容。</translation>
    </message>
    <message>
        <source>The worktree could not be made, and nothing is left of it.</source>
        <translation>无法创建工作树，也没有留下任何内容。</translation>
    </message>
    <message>
        <source>The worktree was not set up, because there is no shell.</source>
        <translation>没有可用的 shell，因此未设置工作树。</translation>
    </message>
    <message>
        <source>The worktree {0} is in its place.</source>
        <translation>工作树 {0} 在原位。</translation>
    </message>
    <message>
        <source>The worktree {0} is in the trash already.</source>
        <translation>工作树 {0} 已在回收站中。</translation>
    </message>
    <message>
        <source>The worktree {0} was moved to {1}.</source>
        <translation>工作树 {0} 已被移动到 {1}。</translation>
    </message>
    <message>
        <source>The worktrees cannot be written.</source>
        <translation>无法写入工作树。</translation>
    </message>
    <message>
        <source>The {0} are being changed by another process.</source>
        <translation>另一个进程正在更改：{0}。</translation>
    </message>
    <message>
        <source>The {0} cannot be read.</source>
        <translation>无法读取：{0}。</translation>
    </message>
    <message>
        <source>The {0} could not be saved.</source>
        <translation>未能保存：{0}。</translation>
    </message>
    <message>
        <source>The {0} is UTF-8, which cannot hold {1}, so nothing was saved.</source>
        <translation>未保存任何内容，因为 {1} 无法写为 UTF-8：{0}。</translation>
    </message>
    <message>
        <source>The {0} is not valid TOML, so nothing was saved.</source>
        <translation>未保存任何内容，因为这不是有效的 TOML：{0}。</translation>
    </message>
    <message>
        <source>There are no agents in {0}.</source>
        <translation>{0} 中没有智能体。</translation>
    </message>
    <message>
        <source>There are no usable credentials for {0}.</source>
        <translation>没有可用于 {0} 的凭据。</translation>
    </message>
    <message>
        <source>There are no variants in this folder.</source>
        <translation>此文件夹中没有方案。</translation>
    </message>
    <message>
        <source>There are: {0}.</source>
        <translation>现有：{0}。</translation>
    </message>
    <message>
        <source>There can be 2 to {0} variants, not {1}.</source>
        <translation>方案数量须为 2 到 {0} 个，不能是 {1} 个。</translation>
    </message>
    <message>
        <source>There is a plugin named {0} already.</source>
        <translation>已有名为 {0} 的插件。</translation>
    </message>
    <message>
        <source>There is a worktree or branch of the name {0} already.</source>
        <translation>已存在名为 {0} 的工作树或分支。</translation>
    </message>
    <message>
        <source>There is another account of {0} called {1}.</source>
        <translation>{0} 已有另一个名为 {1} 的账户。</translation>
    </message>
    <message>
        <source>There is no active summary.</source>
        <translation>没有生效的摘要。</translation>
    </message>
    <message>
        <source>There is no agent named {0}, and no program of that name.</source>
        <translation>没有名为 {0} 的代理，也没有同名程序。</translation>
    </message>
    <message>
        <source>There is no commit {0}.</source>
        <translation>没有提交 {0}。</translation>
    </message>
    <message>
        <source>There is no file {0}.</source>
        <translation>没有文件 {0}。</translation>
    </message>
    <message>
        <source>There is no model named “{0}” here.</source>
        <translation>此处没有名为“{0}”的模型。</translation>
    </message>
    <message>
        <source>There is no plan.</source>
        <translation>没有计划。</translation>
    </message>
    <message>
        <source>There is no program {0} to start the agent.</source>
        <translation>没有用于启动代理的程序 {0}。</translation>
    </message>
    <message>
        <source>There is no program {0}.</source>
        <translation>没有程序 {0}。</translation>
    </message>
    <message>
        <source>There is no record that you allowed this tool. It may be new.</source>
        <translation>没有您允许过此工具的记录。它可能是新的。</translation>
    </message>
    <message>
        <source>There is no shell to run it with.</source>
        <translation>没有可用于运行它的 shell。</translation>
    </message>
    <message>
        <source>There is no such method.</source>
        <translation>没有这样的方法。</translation>
    </message>
    <message>
        <source>There is no such terminal, or it was released.</source>
        <translation>没有这个终端，或者它已被释放。</translation>
    </message>
    <message>
        <source>There is no such undo.</source>
        <translation>没有这样的撤销。</translation>
    </message>
    <message>
        <source>There is no undo that can be redone.</source>
        <translation>没有可以重做的撤销。</translation>
    </message>
    <message>
        <source>There is no worktree {0}.</source>
        <translation>没有工作树 {0}。</translation>
    </message>
    <message>
        <source>There is no {0} named {1} in your settings.</source>
        <translation>您的设置中没有名为 {1} 的 {0}。</translation>
    </message>
    <message>
        <source>There is nothing to commit.</source>
        <translation>没有可提交的内容。</translation>
    </message>
    <message>
        <source>There is {0} named {1} already.</source>
        <translation>已有名为 {1} 的{0}。</translation>
    </message>
    <message>
        <source>These changes clash with what is in the folder, so nothing was taken.</source>
        <translation>这些更改与文件夹中的内容冲突，因此未采用任何内容。</translation>
    </message>
    <message>
        <source>These credentials may not use {0}.</source>
        <translation>这些凭据不可使用 {0}。</translation>
    </message>
    <message>
        <source>They include lines of yours or of another change.</source>
        <translation>其间有用户或其他更改的行。</translation>
    </message>
    <message>
        <source>This build cannot have them. Install the package from PyPI instead: {0}.</source>
        <translation>此版本无法包含它们。请改为安装 PyPI 上的软件包：{0}。</translation>
    </message>
    <message>
        <source>This command mentions `{0}`, which you blocked. Another program may start it.</source>
        <translation>此命令中有词语提到您已禁止的 `{0}`。其他程序可能会启动它。</translation>
    </message>
    <message>
        <source>This file has no such change.</source>
        <translation>其中没有此项更改。</translation>
    </message>
    <message>
        <source>This folder is not in a git repository.</source>
        <translation>此文件夹不在任何 git 存储库中。</translation>
    </message>
    <message>
        <source>This folder&apos;s git repository was replaced by another one. Open the folder again to use it.</source>
        <translation>此文件夹的 git 存储库已被另一个取代。请重新打开文件夹以使用它。</translation>
    </message>
    <message>
        <source>This is not a file that can be read.</source>
        <translation>这不是可读取的文件。</translation>
    </message>
    <message>
        <source>This is or was a device. An undo does not create or remove devices.</source>
        <translation>那里现在或曾经是一个设备，撤销既不创建也不移除它。</translation>
    </message>
    <message>
        <source>This session was never saved: the application ended, or the disk was full, while it was being created.</source>
        <translation>此会话从未写入任何内容：在创建它时，应用程序已结束，或磁盘已满。</translation>
    </message>
    <message>
        <source>This session works in the worktree {0}, on the branch {1}.</source>
        <translation>此会话在工作树 {0} 中工作，分支为 {1}。</translation>
    </message>
    <message>
        <source>This system has neither bash nor sh, so commands cannot be checked. Install bash to have them checked again.</source>
        <translation>此系统中既没有 bash 也没有 sh，因此无法得知命令行的含义。请安装 bash，之后会重新对命令进行判断。</translation>
    </message>
    <message>
        <source>To begin a prompt with a slash, write two slashes, or a space before the slash.</source>
        <translation>以斜杠开头的消息请写两个斜杠，或在前面加一个空格。</translation>
    </message>
    <message>
        <source>TrueType font</source>
        <translation>TrueType 字体</translation>
    </message>
    <message>
        <source>Try again, or write it yourself.</source>
        <translation>请重试，或自行撰写。</translation>
    </message>
    <message>
        <source>Try again.</source>
        <translation>请重试。</translation>
    </message>
    <message>
        <source>Undo it with git.</source>
        <translation>请用 Git 撤销它。</translation>
    </message>
    <message>
        <source>Undo the agent&apos;s changes: those of the last turn, or what you name</source>
        <translation>撤销代理的更改：上一轮的，或您指定的</translation>
    </message>
    <message>
        <source>Unstage it first. Nothing was changed.</source>
        <translation>请先取消暂存。未做任何更改。</translation>
    </message>
    <message>
        <source>Update Desktop Agent to go on with it.</source>
        <translation>请更新 Desktop Agent 后再继续此会话。</translation>
    </message>
    <message>
        <source>Update the agent, or this application.</source>
        <translation>请更新该代理或本应用程序。</translation>
    </message>
    <message>
        <source>Use `conversation`, `files` or `both`.</source>
        <translation>可用 `conversation`、`files` 或 `both`。</translation>
    </message>
    <message>
        <source>Use an API key, or a profile of Anthropic&apos;s own tools (`ant auth login`).</source>
        <translation>请使用 API 密钥，或 Anthropic 自己的工具的配置文件（`ant auth login`）。</translation>
    </message>
    <message>
        <source>Use its https:// address, or set allow_unencrypted = true for this server in the settings file.</source>
        <translation>请使用其 https:// 地址，或在设置文件中为此服务器设置 allow_unencrypted = true。</translation>
    </message>
    <message>
        <source>Use letters, digits, `-` and `_`, at most 60.</source>
        <translation>请使用字母、数字、`-` 和 `_`，最多 60 个。</translation>
    </message>
    <message>
        <source>Variants need a git repository with a commit, and the folder is in none.</source>
        <translation>方案需要含有提交的 git 仓库，而该文件夹不在这样的仓库中。</translation>
    </message>
    <message>
        <source>WAV audio</source>
        <translation>WAV 音频</translation>
    </message>
    <message>
        <source>WOFF font</source>
        <translation>WOFF 字体</translation>
    </message>
    <message>
        <source>WOFF2 font</source>
        <translation>WOFF2 字体</translation>
    </message>
    <message>
        <source>Wait a moment, and try again.</source>
        <translation>请稍候再试。</translation>
    </message>
    <message>
        <source>Wait for it, then try again.</source>
        <translation>请等待其完成，然后重试。</translation>
    </message>
    <message>
        <source>Wait until the turn has ended, or stop it.</source>
        <translation>请等待本轮结束，或停止它。</translation>
    </message>
    <message>
        <source>Waits until another sub-agent ends.</source>
        <translation>正在等待另一个子代理结束。</translation>
    </message>
    <message>
        <source>WebAssembly module</source>
        <translation>WebAssembly 模块</translation>
    </message>
    <message>
        <source>WebP image</source>
        <translation>WebP 图像</translation>
    </message>
    <message>
        <source>What came back from the browser does not belong to this sign-in. Nothing is kept.</source>
        <translation>浏览器返回的内容不属于此次登录。不会保留任何内容。</translation>
    </message>
    <message>
        <source>What is staged changed meanwhile.</source>
        <translation>暂存的内容已发生变化。</translation>
    </message>
    <message>
        <source>What it prints on its standard output is not the protocol.</source>
        <translation>它在标准输出上打印的内容不符合协议。</translation>
    </message>
    <message>
        <source>What runs on {0} wants a key.</source>
        <translation>{0} 上运行的程序要求密钥。</translation>
    </message>
    <message>
        <source>What was allowed of the server could not be forgotten.</source>
        <translation>无法忘记对该服务器的许可。</translation>
    </message>
    <message>
        <source>What was allowed of the server could not be kept.</source>
        <translation>无法保存对该服务器的许可。</translation>
    </message>
    <message>
        <source>What was allowed of the server is being changed by another process.</source>
        <translation>另一个进程正在更改对该服务器的许可。</translation>
    </message>
    <message>
        <source>What was allowed of the server is too large to be kept.</source>
        <translation>对该服务器的许可过大，无法保存。</translation>
    </message>
    <message>
        <source>What was pasted could not be kept.</source>
        <translation>无法保留粘贴的内容。</translation>
    </message>
    <message>
        <source>What was pasted has {0} MiB, and no more than {1} MiB can come with a message.</source>
        <translation>粘贴的内容为 {0} MiB；一条消息最多可附带 {1} MiB。</translation>
    </message>
    <message>
        <source>What {0} sees cannot be shown here.</source>
        <translation>{0} 看到的内容无法在此显示。</translation>
    </message>
    <message>
        <source>Which agent?</source>
        <translation>哪个智能体？</translation>
    </message>
    <message>
        <source>Which model of {0}?</source>
        <translation>{0} 的哪个模型？</translation>
    </message>
    <message>
        <source>Which setting, and which value?</source>
        <translation>哪项设置，设为什么值？</translation>
    </message>
    <message>
        <source>Windows icon</source>
        <translation>Windows 图标</translation>
    </message>
    <message>
        <source>Windows program</source>
        <translation>Windows 程序</translation>
    </message>
    <message>
        <source>Without a display, use `desktop-agent run --prompt …`.</source>
        <translation>没有时请使用 `desktop-agent run --prompt …`。</translation>
    </message>
    <message>
        <source>Write each section of {0} once, in lines below its [name], and try again.</source>
        <translation>请将 {0} 的每个部分只写一次，写在其 [名称] 下面的行中，然后重试。</translation>
    </message>
    <message>
        <source>Write it as `/{0} {1}`.</source>
        <translation>写法是 `/{0} {1}`。</translation>
    </message>
    <message>
        <source>Write it as `{0}`.</source>
        <translation>写法是 `{0}`。</translation>
    </message>
    <message>
        <source>Write it in full: https://host/mcp.</source>
        <translation>请写完整：https://host/mcp。</translation>
    </message>
    <message>
        <source>Write it yourself, or choose another model.</source>
        <translation>请自行撰写，或选择其他模型。</translation>
    </message>
    <message>
        <source>Write the message yourself, or raise the limit.</source>
        <translation>请自行撰写说明，或提高上限。</translation>
    </message>
    <message>
        <source>XZ data</source>
        <translation>XZ 数据</translation>
    </message>
    <message>
        <source>You are not signed in for {0}.</source>
        <translation>您尚未登录 {0}。</translation>
    </message>
    <message>
        <source>You changed these lines since. Commit them with git.</source>
        <translation>您之后更改了这些行。请用 Git 提交它们。</translation>
    </message>
    <message>
        <source>You signed in with a different {0} account.</source>
        <translation>您登录的 {0} 账户不是此账户。</translation>
    </message>
    <message>
        <source>You staged another version of the same lines.</source>
        <translation>您暂存了这些行的另一个版本。</translation>
    </message>
    <message>
        <source>Your answer</source>
        <translation>您的回答</translation>
    </message>
    <message>
        <source>Your answer about the project could not be kept.</source>
        <translation>无法保存您对项目的回答。</translation>
    </message>
    <message>
        <source>Your answer could not be kept.</source>
        <translation>无法保存您的回答。</translation>
    </message>
    <message>
        <source>Your rule `{0}` is for this tool as it was. It applies again once you allow the tool as it is now.</source>
        <translation>您的规则 `{0}` 针对此工具的原状。您按现状允许后，它会再次有效。</translation>
    </message>
    <message>
        <source>Your rule `{0}` was made in another repository, so it does not apply here.</source>
        <translation>您的规则 `{0}` 是在另一个仓库中创建的，因此在此无效。</translation>
    </message>
    <message>
        <source>ZIP archive</source>
        <translation>ZIP 归档</translation>
    </message>
    <message>
        <source>Zed lists them as &quot;agent_servers&quot;.</source>
        <translation>Zed 在 &quot;agent_servers&quot; 下列出它们。</translation>
    </message>
    <message>
        <source>Zstandard data</source>
        <translation>Zstandard 数据</translation>
    </message>
    <message>
        <source>`--ttl=3600` keeps it for an hour.</source>
        <translation>`--ttl=3600` 保留一小时。</translation>
    </message>
    <message>
        <source>`/config` lists them all.</source>
        <translation>`/config` 列出全部。</translation>
    </message>
    <message>
        <source>`/diff` shows what it did.</source>
        <translation>`/diff` 显示它做了什么。</translation>
    </message>
    <message>
        <source>`/help` lists them.</source>
        <translation>`/help` 列出全部命令。</translation>
    </message>
    <message>
        <source>`/pin list` lists them with their ids.</source>
        <translation>`/pin list` 列出它们及其标识。</translation>
    </message>
    <message>
        <source>`/redo steps` lists them with their numbers.</source>
        <translation>`/redo steps` 列出它们及其编号。</translation>
    </message>
    <message>
        <source>`/rewind` lists the turns.</source>
        <translation>`/rewind` 列出各轮。</translation>
    </message>
    <message>
        <source>`desktop-agent agents list` lists those that can be used.</source>
        <translation>`desktop-agent agents list` 会列出可用的代理。</translation>
    </message>
    <message>
        <source>`desktop-agent doctor` says what helps.</source>
        <translation>`desktop-agent doctor` 会说明解决办法。</translation>
    </message>
    <message>
        <source>`desktop-agent worktrees list` lists them.</source>
        <translation>`desktop-agent worktrees list` 会列出它们。</translation>
    </message>
    <message>
        <source>`desktop-agent worktrees restore {0}` puts back what git knows of it.</source>
        <translation>`desktop-agent worktrees restore {0}` 可恢复 Git 所知的内容。</translation>
    </message>
    <message>
        <source>`jobs` can run other programs</source>
        <translation>`jobs` 可以运行其他程序</translation>
    </message>
    <message>
        <source>`set` changes how the rest is read</source>
        <translation>`set` 会改变其余部分的读取方式</translation>
    </message>
    <message>
        <source>`{0}` belongs to git, and edit tools never write git&apos;s own files. Use git commands instead.</source>
        <translation>`{0}` 属于 git，编辑工具从不写入 git 自身的文件。请改用 git 命令。</translation>
    </message>
    <message>
        <source>`{0}` can run other programs</source>
        <translation>`{0}` 可以运行其他程序</translation>
    </message>
    <message>
        <source>`{0}` changes what later commands mean</source>
        <translation>`{0}` 会改变后续命令的含义</translation>
    </message>
    <message>
        <source>`{0}` is not expected there.</source>
        <translation>`{0}` 在那里没有意义。</translation>
    </message>
    <message>
        <source>`{0}` is not the system&apos;s `{1}`</source>
        <translation>`{0}` 不是系统的 `{1}`</translation>
    </message>
    <message>
        <source>`{0}` is redefined in this line</source>
        <translation>`{0}` 在这一行中被重新定义</translation>
    </message>
    <message>
        <source>`{0}` is saved, but this project is stricter: here it is `{1}`, from `{2}`.</source>
        <translation>`{0}` 已保存，但此项目更严格：这里为 `{1}`，来自 `{2}`。</translation>
    </message>
    <message>
        <source>`{0}` runs a file&apos;s commands in this shell</source>
        <translation>`{0}` 会在此 shell 中运行文件里的命令</translation>
    </message>
    <message>
        <source>`{0}` runs a script that is not known beforehand</source>
        <translation>`{0}` 运行的脚本事先无法得知</translation>
    </message>
    <message>
        <source>`{0}` runs what it reads</source>
        <translation>`{0}` 会运行它读到的内容</translation>
    </message>
    <message>
        <source>`{0}` where a command was expected</source>
        <translation>应为命令处出现了 `{0}`</translation>
    </message>
    <message>
        <source>a command that goes on behind its line</source>
        <translation>命令延续到了所在行之后</translation>
    </message>
    <message>
        <source>a comment that was not understood</source>
        <translation>有无法理解的注释</translation>
    </message>
    <message>
        <source>a comment where a word was expected</source>
        <translation>应为单词处出现了注释</translation>
    </message>
    <message>
        <source>a here document that does not end where it seems to</source>
        <translation>here 文档的结束位置与看上去的不同</translation>
    </message>
    <message>
        <source>a here document that was not understood</source>
        <translation>有无法理解的 here 文档</translation>
    </message>
    <message>
        <source>a line that goes on inside a word</source>
        <translation>有在单词中间续行的行</translation>
    </message>
    <message>
        <source>a name that is evaluated, and whose value may be run</source>
        <translation>有会被求值的名称，其值可能被运行</translation>
    </message>
    <message>
        <source>a program for {0}</source>
        <translation>给 {0} 的程序</translation>
    </message>
    <message>
        <source>a project&apos;s agent gets no secrets from your keyring: remove secrets</source>
        <translation>项目的代理无法从您的密钥环获取机密：请移除 secrets</translation>
    </message>
    <message>
        <source>a quote that does not end</source>
        <translation>有未闭合的引号</translation>
    </message>
    <message>
        <source>a quoted text that shells read differently</source>
        <translation>有不同 shell 读法不同的引号文本</translation>
    </message>
    <message>
        <source>a redirection of a descriptor that was not understood</source>
        <translation>有无法理解的描述符重定向</translation>
    </message>
    <message>
        <source>a redirection that shells read differently</source>
        <translation>有不同 shell 读法不同的重定向</translation>
    </message>
    <message>
        <source>a redirection that was not understood</source>
        <translation>有无法理解的重定向</translation>
    </message>
    <message>
        <source>a redirection whose target shells expand twice, or split</source>
        <translation>有目标会被 shell 展开两次或拆分的重定向</translation>
    </message>
    <message>
        <source>a redirection without a target</source>
        <translation>有没有目标的重定向</translation>
    </message>
    <message>
        <source>a script for {0}</source>
        <translation>给 {0} 的脚本</translation>
    </message>
    <message>
        <source>a server</source>
        <translation>服务器</translation>
    </message>
    <message>
        <source>a test that was not understood</source>
        <translation>有无法理解的条件测试</translation>
    </message>
    <message>
        <source>a text that is translated, and may be run</source>
        <translation>有会被翻译且可能被运行的文本</translation>
    </message>
    <message>
        <source>a value of {0}, which the shell may run</source>
        <translation>shell 可能会运行 {0} 的值</translation>
    </message>
    <message>
        <source>a word that begins behind its line</source>
        <translation>有从所在行之后开始的单词</translation>
    </message>
    <message>
        <source>accounts</source>
        <translation>账户</translation>
    </message>
    <message>
        <source>agent</source>
        <translation>智能体</translation>
    </message>
    <message>
        <source>all hooks are switched off</source>
        <translation>所有钩子都已关闭</translation>
    </message>
    <message>
        <source>all skills are switched off</source>
        <translation>所有技能都已关闭</translation>
    </message>
    <message>
        <source>an API key</source>
        <translation>API 密钥</translation>
    </message>
    <message>
        <source>an agent</source>
        <translation>智能体</translation>
    </message>
    <message>
        <source>an assignment that was not recognised</source>
        <translation>有无法识别的赋值</translation>
    </message>
    <message>
        <source>an expansion inside single quotes</source>
        <translation>单引号内有展开</translation>
    </message>
    <message>
        <source>an expansion that does not end</source>
        <translation>有未结束的展开</translation>
    </message>
    <message>
        <source>an expansion that was not recognised</source>
        <translation>有无法识别的展开</translation>
    </message>
    <message>
        <source>an operator inside a word</source>
        <translation>单词中有运算符</translation>
    </message>
    <message>
        <source>another skill has this name, in {0}</source>
        <translation>另一个技能已使用此名称，位于 {0}</translation>
    </message>
    <message>
        <source>backslashes inside backticks</source>
        <translation>反引号内有反斜杠</translation>
    </message>
    <message>
        <source>code for {0}</source>
        <translation>给 {0} 的代码</translation>
    </message>
    <message>
        <source>code for {0} from its input</source>
        <translation>给 {0} 的代码来自其输入</translation>
    </message>
    <message>
        <source>embedded files</source>
        <translation>嵌入的文件</translation>
    </message>
    <message>
        <source>expansions in a here document</source>
        <translation>here 文档中有展开</translation>
    </message>
    <message>
        <source>file of the accounts</source>
        <translation>账户文件</translation>
    </message>
    <message>
        <source>hooks of other programs are switched off</source>
        <translation>其他程序的钩子已关闭</translation>
    </message>
    <message>
        <source>images</source>
        <translation>图片</translation>
    </message>
    <message>
        <source>it has a part of an unknown kind ({0})</source>
        <translation>其中有未知类型的部分（{0}）</translation>
    </message>
    <message>
        <source>it has more than {0} KiB</source>
        <translation>它超过 {0} KiB</translation>
    </message>
    <message>
        <source>it is a link that leads out of the folder</source>
        <translation>它是指向文件夹之外的链接</translation>
    </message>
    <message>
        <source>it is empty</source>
        <translation>它是空的</translation>
    </message>
    <message>
        <source>it is nested too deeply</source>
        <translation>嵌套过深</translation>
    </message>
    <message>
        <source>it is no file</source>
        <translation>它不是文件</translation>
    </message>
    <message>
        <source>it is not UTF-8 text</source>
        <translation>它不是 UTF-8 文本</translation>
    </message>
    <message>
        <source>it is not valid TOML: {0}</source>
        <translation>它不是有效的 TOML：{0}</translation>
    </message>
    <message>
        <source>it is not valid shell</source>
        <translation>不是有效的 shell 语法</translation>
    </message>
    <message>
        <source>it needs a command line</source>
        <translation>需要命令行</translation>
    </message>
    <message>
        <source>it runs too many commands</source>
        <translation>运行的命令过多</translation>
    </message>
    <message>
        <source>its front matter has no description</source>
        <translation>其元数据中没有描述</translation>
    </message>
    <message>
        <source>its name has characters other than letters, digits, - and _</source>
        <translation>其名称含有字母、数字、- 和 _ 以外的字符</translation>
    </message>
    <message>
        <source>its name is not that of its folder</source>
        <translation>其名称与所在文件夹不同</translation>
    </message>
    <message>
        <source>its plugin is not used</source>
        <translation>其插件未被使用</translation>
    </message>
    <message>
        <source>its plugin waits for your answer</source>
        <translation>其插件正在等待您的回答</translation>
    </message>
    <message>
        <source>models</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>name may have at most 32 letters, digits, &apos;-&apos;, &apos;_&apos; and &apos;.&apos;</source>
        <translation>名称最多可包含 32 个字母、数字、“-”、“_”和“.”字符</translation>
    </message>
    <message>
        <source>options of `find` that are not known</source>
        <translation>`find` 有未知的选项</translation>
    </message>
    <message>
        <source>options of `{0}` that are not known</source>
        <translation>`{0}` 有未知的选项</translation>
    </message>
    <message>
        <source>quoted text that may be run</source>
        <translation>有可能被运行的引号文本</translation>
    </message>
    <message>
        <source>resuming sessions</source>
        <translation>恢复会话</translation>
    </message>
    <message>
        <source>rules</source>
        <translation>规则</translation>
    </message>
    <message>
        <source>server</source>
        <translation>服务器</translation>
    </message>
    <message>
        <source>settings file</source>
        <translation>设置文件</translation>
    </message>
    <message>
        <source>syntax of bash, which another shell reads differently</source>
        <translation>bash 的语法，其他 shell 读法不同</translation>
    </message>
    <message>
        <source>text that was not understood</source>
        <translation>有无法理解的文本</translation>
    </message>
    <message>
        <source>the value of {0} may be run later</source>
        <translation>{0} 的值之后可能会被运行</translation>
    </message>
    <message>
        <source>there is too much text in all skills together</source>
        <translation>所有技能的文本总量过大</translation>
    </message>
    <message>
        <source>with one model</source>
        <translation>有一个模型</translation>
    </message>
    <message>
        <source>with {0} models</source>
        <translation>有 {0} 个模型</translation>
    </message>
    <message>
        <source>without a model</source>
        <translation>没有模型</translation>
    </message>
    <message>
        <source>words of `{0}` that are not known</source>
        <translation>`{0}` 有未知的单词</translation>
    </message>
    <message>
        <source>words that run together</source>
        <translation>有连在一起的单词</translation>
    </message>
    <message>
        <source>you ignore what this project brings</source>
        <translation>您忽略了此项目带来的内容</translation>
    </message>
    <message>
        <source>your Entra sign-in</source>
        <translation>您的 Entra 登录</translation>
    </message>
    <message>
        <source>your Google sign-in</source>
        <translation>您的 Google 登录</translation>
    </message>
    <message>
        <source>{0} Finish or abort it with git first.</source>
        <translation>{0} 请先用 Git 完成或中止它。</translation>
    </message>
    <message>
        <source>{0} If no git is running, remove {1}.</source>
        <translation>{0} 如果没有 Git 在运行，请删除 {1}。</translation>
    </message>
    <message>
        <source>{0} It is not part of the conversation.</source>
        <translation>{0} 这不属于对话的一部分。</translation>
    </message>
    <message>
        <source>{0} Or give it a key. {1}</source>
        <translation>{0} 或者为它提供密钥。{1}</translation>
    </message>
    <message>
        <source>{0} Resolve them with git first.</source>
        <translation>{0} 请先用 Git 解决。</translation>
    </message>
    <message>
        <source>{0} Try again.</source>
        <translation>{0} 请重试。</translation>
    </message>
    <message>
        <source>{0} What {1} runs could not be downloaded, or fails by itself.</source>
        <translation>{0} 无法下载 {1} 要运行的程序，或者该程序自身失败。</translation>
    </message>
    <message>
        <source>{0} accounts cannot be of the kind {1}; possible: {2}</source>
        <translation>{0} 的账户不能是 {1} 类型；可用类型：{2}</translation>
    </message>
    <message>
        <source>{0} answered the sign-in with something other than a key.</source>
        <translation>{0} 对登录的回应不是密钥。</translation>
    </message>
    <message>
        <source>{0} answered with {1} {2}.</source>
        <translation>{0} 返回了 {1} {2}。</translation>
    </message>
    <message>
        <source>{0} answers on {1}, not {2}.</source>
        <translation>在 {1} 上回答的是 {0}，而不是 {2}。</translation>
    </message>
    <message>
        <source>{0} asked {1} something, and got the answer.</source>
        <translation>{0} 向 {1} 提了问题，并得到了回答。</translation>
    </message>
    <message>
        <source>{0} began {1} calls and ended none of them.</source>
        <translation>{0} 开始了 {1} 次调用，但一次也没有结束。</translation>
    </message>
    <message>
        <source>{0} cannot be added as a plugin: {1}.</source>
        <translation>无法将 {0} 添加为插件：{1}。</translation>
    </message>
    <message>
        <source>{0} cannot be asked with these settings.</source>
        <translation>使用这些设置无法向 {0} 发出请求。</translation>
    </message>
    <message>
        <source>{0} cannot be changed in the {1} as it is written there, so nothing was saved.</source>
        <translation>未保存任何内容，因为 {0} 按现有写法无法更改：{1}。</translation>
    </message>
    <message>
        <source>{0} cannot be kept to planning.</source>
        <translation>无法将 {0} 限制为只做规划。</translation>
    </message>
    <message>
        <source>{0} cannot be read: {1}.</source>
        <translation>无法读取 {0}：{1}。</translation>
    </message>
    <message>
        <source>{0} cannot be the name of a variable</source>
        <translation>{0} 不能作为变量名</translation>
    </message>
    <message>
        <source>{0} cannot be the name of a worktree.</source>
        <translation>{0} 不能用作工作树名称。</translation>
    </message>
    <message>
        <source>{0} cannot set {1} to {2}.</source>
        <translation>{0} 无法将 {1} 设为 {2}。</translation>
    </message>
    <message>
        <source>{0} compressed its answer, although it was asked not to, so the answer was not read.</source>
        <translation>{0} 压缩了回答，尽管被要求不要压缩，因此未读取该回答。</translation>
    </message>
    <message>
        <source>{0} could not be reached.</source>
        <translation>无法连接 {0}。</translation>
    </message>
    <message>
        <source>{0} could not be started: {1}.</source>
        <translation>无法启动 {0}：{1}。</translation>
    </message>
    <message>
        <source>{0} could not summarise its conversation.</source>
        <translation>{0} 无法总结其对话。</translation>
    </message>
    <message>
        <source>{0} decides by itself how much it thinks.</source>
        <translation>{0} 自行决定思考多少。</translation>
    </message>
    <message>
        <source>{0} did not answer within {1} s.</source>
        <translation>{0} 未在 {1} 秒内回应。</translation>
    </message>
    <message>
        <source>{0} did not let git in, so nothing was pushed.</source>
        <translation>{0} 拒绝了 git 的访问，因此没有推送任何内容。</translation>
    </message>
    <message>
        <source>{0} does not answer.</source>
        <translation>{0} 没有回答。</translation>
    </message>
    <message>
        <source>{0} does not speak HTTP, or broke off.</source>
        <translation>{0} 不使用 HTTP，或已中断。</translation>
    </message>
    <message>
        <source>{0} does not take your message now. It waits for the end of the turn.</source>
        <translation>{0} 现在不接收您的消息。它会等到本轮结束。</translation>
    </message>
    <message>
        <source>{0} does not tell what it costs, so cost limits do not apply to it.</source>
        <translation>{0} 不报告费用，因此费用上限对它不起作用。</translation>
    </message>
    <message>
        <source>{0} downloads what it runs.</source>
        <translation>{0} 正在下载要运行的程序。</translation>
    </message>
    <message>
        <source>{0} goes on with its own session, which could not be compared with this conversation.</source>
        <translation>{0} 继续使用它自己的会话，该会话无法与此对话比较。</translation>
    </message>
    <message>
        <source>{0} has all commits of {1}.</source>
        <translation>{0} 已有 {1} 的全部提交。</translation>
    </message>
    <message>
        <source>{0} has commits that you do not have, so nothing was pushed.</source>
        <translation>{0} 上有您没有的提交，因此没有推送任何内容。</translation>
    </message>
    <message>
        <source>{0} has conflicts.</source>
        <translation>{0} 有冲突。</translation>
    </message>
    <message>
        <source>{0} has no agent {1}.</source>
        <translation>{0} 中没有智能体 {1}。</translation>
    </message>
    <message>
        <source>{0} has no mode {1}.</source>
        <translation>{0} 没有模式 {1}。</translation>
    </message>
    <message>
        <source>{0} has no option {1}.</source>
        <translation>{0} 没有选项 {1}。</translation>
    </message>
    <message>
        <source>{0} has secrets, and is not given to agents.</source>
        <translation>{0} 含有机密，不会提供给代理。</translation>
    </message>
    <message>
        <source>{0} has {1} agents: name one.</source>
        <translation>{0} 有 {1} 个智能体：请指定一个。</translation>
    </message>
    <message>
        <source>{0} is in progress.</source>
        <translation>{0}正在进行中。</translation>
    </message>
    <message>
        <source>{0} is not JSON.</source>
        <translation>{0} 不是 JSON。</translation>
    </message>
    <message>
        <source>{0} is not a file that can be read, or is larger than {1} MiB.</source>
        <translation>{0} 不是可读取的文件，或大于 {1} MiB。</translation>
    </message>
    <message>
        <source>{0} is not a file.</source>
        <translation>{0} 不是文件。</translation>
    </message>
    <message>
        <source>{0} is not a section in the {1}.</source>
        <translation>{0} 不是一个部分：{1}。</translation>
    </message>
    <message>
        <source>{0} is not encrypted, and {1} names this proxy. Use an https:// address, or add the host to NO_PROXY.</source>
        <translation>{0} 未加密，而 {1} 指定了此代理。请使用 https:// 地址，或将主机加入 NO_PROXY。</translation>
    </message>
    <message>
        <source>{0} is not installed.</source>
        <translation>{0} 未安装。</translation>
    </message>
    <message>
        <source>{0} is not running on {1}.</source>
        <translation>{0} 未在 {1} 上运行。</translation>
    </message>
    <message>
        <source>{0} is not signed in.</source>
        <translation>{0} 尚未登录。</translation>
    </message>
    <message>
        <source>{0} is not text: {1}.</source>
        <translation>{0} 不是文本：{1}。</translation>
    </message>
    <message>
        <source>{0} is not written as [[{1}]] in the {2}.</source>
        <translation>{0} 没有写作 [[{1}]]：{2}。</translation>
    </message>
    <message>
        <source>{0} is reserved for the account without a name</source>
        <translation>{0} 是没有名称的账户</translation>
    </message>
    <message>
        <source>{0} is still not sent, because a glob in {1} covers it.</source>
        <translation>{0} 仍不会发送，因为 {1} 中的通配模式与它匹配。</translation>
    </message>
    <message>
        <source>{0} is too long: files in {1} could not be opened at that path.</source>
        <translation>{0} 太长：{1} 中的内容在那里将无法打开。</translation>
    </message>
    <message>
        <source>{0} names {1}, which {2}.</source>
        <translation>{0} 指定了 {1}：{2}。</translation>
    </message>
    <message>
        <source>{0} needs packages that are not installed.</source>
        <translation>{0} 需要尚未安装的软件包。</translation>
    </message>
    <message>
        <source>{0} offers no encrypted connection that can be trusted.</source>
        <translation>{0} 没有提供可信任的加密连接。</translation>
    </message>
    <message>
        <source>{0} on {1} is still loading its model.</source>
        <translation>{1} 上的 {0} 仍在加载模型。</translation>
    </message>
    <message>
        <source>{0} opened a session without an id.</source>
        <translation>{0} 打开的会话没有标识。</translation>
    </message>
    <message>
        <source>{0} redirects to {1}. Neither the key nor the conversation was sent there.</source>
        <translation>{0} 重定向到 {1}。密钥和对话都没有发送到那里。</translation>
    </message>
    <message>
        <source>{0} runs its commands outside the sandbox.</source>
        <translation>{0} 会在沙盒之外运行命令。</translation>
    </message>
    <message>
        <source>{0} runs on {1}, {2}.</source>
        <translation>{0} 在 {1} 上运行，{2}。</translation>
    </message>
    <message>
        <source>{0} speaks version {1} of the protocol, and only version {2} is known here.</source>
        <translation>{0} 使用协议版本 {1}，此处仅支持版本 {2}。</translation>
    </message>
    <message>
        <source>{0} summarised the older part of its conversation.</source>
        <translation>{0} 已总结其对话的较早部分。</translation>
    </message>
    <message>
        <source>{0} summarises its conversation by itself, when it needs room.</source>
        <translation>{0} 在需要空间时自行总结对话。</translation>
    </message>
    <message>
        <source>{0} terminals are open. Release one first.</source>
        <translation>已打开 {0} 个终端。请先释放一个。</translation>
    </message>
    <message>
        <source>{0} was not used, or not in full: {1}.</source>
        <translation>未按原样使用 {0}：{1}。</translation>
    </message>
    <message>
        <source>{0} was sent its own command `/compact`.</source>
        <translation>已向 {0} 发送它自己的命令 `/compact`。</translation>
    </message>
    <message>
        <source>{0} was stopped to read your message, and goes on with it.</source>
        <translation>{0} 被停下来阅读您的消息，然后继续。</translation>
    </message>
    <message>
        <source>{0}, project {1}, region {2}</source>
        <translation>{0}，项目 {1}，区域 {2}</translation>
    </message>
    <message>
        <source>{0}Its changes so far are kept. Raise the time limit, or continue the session.</source>
        <translation>{0}此前所做的会保留。请允许更多时间，或继续会话。</translation>
    </message>
    <message>
        <source>`{0}` often holds secrets, and what is printed goes to the model.</source>
        <translation>`{0}` 常含机密，而输出的内容会发送给模型。</translation>
    </message>
    <message>
        <source>The effort of {0} cannot be set.</source>
        <translation>无法设置 {0} 的思考强度。</translation>
    </message>
    <message>
        <source>What you said in its own program meanwhile is not shown here.</source>
        <translation>您其间在它自己的程序中说的话不会显示在这里。</translation>
    </message>
    <message>
        <source>`{0}` often holds secrets, and what is read goes to the model.</source>
        <translation>`{0}` 常含机密，而读取的内容会发送给模型。</translation>
    </message>
    <message>
        <source>address: {0}</source>
        <translation>地址：{0}</translation>
    </message>
    <message>
        <source>binary data</source>
        <translation>二进制数据</translation>
    </message>
    <message>
        <source>branches, tags and stash entries</source>
        <translation>分支、标签和贮藏条目</translation>
    </message>
    <message>
        <source>byte order mark added</source>
        <translation>已添加字节顺序标记</translation>
    </message>
    <message>
        <source>byte order mark removed</source>
        <translation>已移除字节顺序标记</translation>
    </message>
    <message>
        <source>bzip2 data</source>
        <translation>bzip2 数据</translation>
    </message>
    <message>
        <source>client_id must be of printable ASCII without spaces</source>
        <translation>client_id 只能由可打印的 ASCII 字符组成，不含空格</translation>
    </message>
    <message>
        <source>edits</source>
        <translation>编辑</translation>
    </message>
    <message>
        <source>empty file</source>
        <translation>空文件</translation>
    </message>
    <message>
        <source>encoding {0}</source>
        <translation>编码 {0}</translation>
    </message>
    <message>
        <source>encoding {0} → {1}</source>
        <translation>编码 {0} → {1}</translation>
    </message>
    <message>
        <source>every public host</source>
        <translation>所有公共主机</translation>
    </message>
    <message>
        <source>exactly this command</source>
        <translation>仅此命令</translation>
    </message>
    <message>
        <source>executable (mode {0})</source>
        <translation>可执行（权限 {0}）</translation>
    </message>
    <message>
        <source>failed: {0} ({1})</source>
        <translation>失败：{0}（{1}）</translation>
    </message>
    <message>
        <source>file of the models</source>
        <translation>模型文件</translation>
    </message>
    <message>
        <source>file of the rules</source>
        <translation>规则文件</translation>
    </message>
    <message>
        <source>for example https://models.example/v1</source>
        <translation>例如 https://models.example/v1</translation>
    </message>
    <message>
        <source>git, and uv, for uvx.</source>
        <translation>git 和 uv（用于 uvx）。</translation>
    </message>
    <message>
        <source>gzip data</source>
        <translation>gzip 数据</translation>
    </message>
    <message>
        <source>header {0}: {1}</source>
        <translation>标头 {0}：{1}</translation>
    </message>
    <message>
        <source>issuer must begin with https://, as the authorisation server writes it</source>
        <translation>issuer 必须以 https:// 开头，与授权服务器的写法一致</translation>
    </message>
    <message>
        <source>it has a user name or a password before the @; a key belongs in the keyring</source>
        <translation>@ 之前有用户名或密码；密钥应保存在密钥环中</translation>
    </message>
    <message>
        <source>it looks like a key, and a name is shown everywhere</source>
        <translation>它看起来像密钥，而名称会到处显示</translation>
    </message>
    <message>
        <source>it looks like a secret, which belongs in the keyring</source>
        <translation>它看起来像机密，应保存在密钥环中</translation>
    </message>
    <message>
        <source>it must begin with https:// or http://, {0}</source>
        <translation>必须以 https:// 或 http:// 开头，{0}</translation>
    </message>
    <message>
        <source>it needs a command line or an address</source>
        <translation>需要命令行或地址</translation>
    </message>
    <message>
        <source>it writes {0} and reaches {1}</source>
        <translation>可写入：{0}；可访问：{1}</translation>
    </message>
    <message>
        <source>it writes {0}, also reads {1} and reaches {2}</source>
        <translation>可写入：{0}；还可读取：{1}；可访问：{2}</translation>
    </message>
    <message>
        <source>its provider is not known</source>
        <translation>提供商未知</translation>
    </message>
    <message>
        <source>its value must be plain text</source>
        <translation>它的值必须是纯文本</translation>
    </message>
    <message>
        <source>left alone: {0}</source>
        <translation>未改动：{0}</translation>
    </message>
    <message>
        <source>left alone: {0} ({1})</source>
        <translation>未改动：{0}（{1}）</translation>
    </message>
    <message>
        <source>line endings changed ({0} → {1})</source>
        <translation>换行符已更改（{0} → {1}）</translation>
    </message>
    <message>
        <source>macOS program</source>
        <translation>macOS 程序</translation>
    </message>
    <message>
        <source>mcp definition &apos;name&apos; must contain text</source>
        <translation>名称不能为空</translation>
    </message>
    <message>
        <source>mcp definition missing required &apos;command&apos;</source>
        <translation>缺少命令</translation>
    </message>
    <message>
        <source>mcp definition missing required &apos;name&apos;</source>
        <translation>缺少名称</translation>
    </message>
    <message>
        <source>mcp definition {0} has a command and a url; a server is started or reached, not both</source>
        <translation>{0} 同时有命令和地址；服务器要么启动，要么连接，不能兼有</translation>
    </message>
    <message>
        <source>merged with later edits: {0}</source>
        <translation>已与之后的更改合并：{0}</translation>
    </message>
    <message>
        <source>merged with later edits: {0} ({1})</source>
        <translation>已与之后的更改合并：{0}（{1}）</translation>
    </message>
    <message>
        <source>mode {0} → {1}</source>
        <translation>权限 {0} → {1}</translation>
    </message>
    <message>
        <source>name {0}: {1}</source>
        <translation>名称 {0}：{1}</translation>
    </message>
    <message>
        <source>name: {0}</source>
        <translation>名称：{0}</translation>
    </message>
    <message>
        <source>named pipe</source>
        <translation>命名管道</translation>
    </message>
    <message>
        <source>newline added at the end of the file</source>
        <translation>文件末尾已添加换行符</translation>
    </message>
    <message>
        <source>no network</source>
        <translation>无</translation>
    </message>
    <message>
        <source>no newline at the end of the file</source>
        <translation>文件末尾无换行符</translation>
    </message>
    <message>
        <source>only line endings changed ({0} → {1})</source>
        <translation>仅换行符已更改（{0} → {1}）</translation>
    </message>
    <message>
        <source>removed {0}</source>
        <translation>已移除 {0}</translation>
    </message>
    <message>
        <source>removed {0} ({1})</source>
        <translation>已移除 {0}（{1}）</translation>
    </message>
    <message>
        <source>restored {0}</source>
        <translation>已恢复 {0}</translation>
    </message>
    <message>
        <source>restored {0} ({1})</source>
        <translation>已恢复 {0}（{1}）</translation>
    </message>
    <message>
        <source>sandbox</source>
        <translation>沙盒</translation>
    </message>
    <message>
        <source>static library</source>
        <translation>静态库</translation>
    </message>
    <message>
        <source>symbolic link</source>
        <translation>符号链接</translation>
    </message>
    <message>
        <source>tar archive</source>
        <translation>tar 归档</translation>
    </message>
    <message>
        <source>the files of this folder</source>
        <translation>此文件夹的文件</translation>
    </message>
    <message>
        <source>the files of this folder, branches, tags and stash entries</source>
        <translation>此文件夹的文件、分支、标签和贮藏条目</translation>
    </message>
    <message>
        <source>the header {0} is a secret, which belongs in the keyring: take it out of this file, and define the server with `desktop-agent mcp add {1} --url URL --header &apos;{2}=…&apos;`</source>
        <translation>标头 {0} 是机密，应保存在密钥环中：请从此文件中删除，并用 `desktop-agent mcp add {1} --url URL --header &apos;{2}=…&apos;` 定义服务器</translation>
    </message>
    <message>
        <source>the open folder</source>
        <translation>打开的文件夹</translation>
    </message>
    <message>
        <source>there is no home folder for {0}</source>
        <translation>{0} 没有对应的主文件夹</translation>
    </message>
    <message>
        <source>too large to compare line by line ({0} MB, {1} lines)</source>
        <translation>过大，无法逐行比较（{0} MB，{1} 行）</translation>
    </message>
    <message>
        <source>url begins with http://, so others on the network could read and change what is sent: use its https:// address, or define it in the settings file with allow_unencrypted = true</source>
        <translation>地址以 http:// 开头，网络上的其他人可以读取和更改发送的内容：请使用 https:// 地址，或在设置文件中用 allow_unencrypted = true 定义</translation>
    </message>
    <message>
        <source>url cannot be used: {0}</source>
        <translation>地址不可用：{0}</translation>
    </message>
    <message>
        <source>url has a user name or a password before the @; a credential belongs in the keyring</source>
        <translation>地址的 @ 之前有用户名或密码；凭据应保存在密钥环中</translation>
    </message>
    <message>
        <source>url must begin with https:// or http://</source>
        <translation>地址必须以 https:// 或 http:// 开头</translation>
    </message>
    <message>
        <source>uv, for uvx, and credentials of AWS: a profile in ~/.aws.</source>
        <translation>uv（用于 uvx），以及 AWS 凭据：~/.aws 中的配置。</translation>
    </message>
    <message>
        <source>uv, for uvx.</source>
        <translation>uv（用于 uvx）。</translation>
    </message>
    <message>
        <source>waiting for you</source>
        <translation>等待您</translation>
    </message>
    <message>
        <source>{0} Choose another name.</source>
        <translation>{0} 请选择其他名称。</translation>
    </message>
    <message>
        <source>{0} Nothing was written.</source>
        <translation>{0} 未写入任何内容。</translation>
    </message>
    <message>
        <source>{0} Your approval policy never asks, so this was refused. Adapt, or do without it.</source>
        <translation>{0} 您的审批策略从不询问，因此已拒绝。请调整做法，或不使用它。</translation>
    </message>
    <message>
        <source>{0} answers from here on. It does not get all of the conversation.</source>
        <translation>从此处起由 {0} 回答。它不会得到全部对话。</translation>
    </message>
    <message>
        <source>{0} belongs to git.</source>
        <translation>{0} 属于 git。</translation>
    </message>
    <message>
        <source>{0} cannot be moved into itself.</source>
        <translation>{0} 不能移动到其自身之内。</translation>
    </message>
    <message>
        <source>{0} cannot be read.</source>
        <translation>无法读取 {0}。</translation>
    </message>
    <message>
        <source>{0} changed by the agent.</source>
        <translation>由代理更改：{0}。</translation>
    </message>
    <message>
        <source>{0} changed on disk before the edit could be written. Nothing was written. Read it again, then redo the edit against its current content.</source>
        <translation>写入编辑之前，{0} 在磁盘上已更改。未写入任何内容。请重新读取，然后针对当前内容重做编辑。</translation>
    </message>
    <message>
        <source>{0} could not be moved: {1}. Nothing was changed.</source>
        <translation>无法移动 {0}：{1}。未作任何更改。</translation>
    </message>
    <message>
        <source>{0} could not be written: {1}. Nothing was changed.</source>
        <translation>无法写入 {0}：{1}。未作任何更改。</translation>
    </message>
    <message>
        <source>{0} defines nothing with that name.</source>
        <translation>{0} 中没有该名称的定义。</translation>
    </message>
    <message>
        <source>{0} definitions have that name.</source>
        <translation>有 {0} 个定义使用该名称。</translation>
    </message>
    <message>
        <source>{0} did not register this application for your account.</source>
        <translation>{0} 未为您的账户注册此应用程序。</translation>
    </message>
    <message>
        <source>{0} did not sign you in.</source>
        <translation>{0} 未让您登录。</translation>
    </message>
    <message>
        <source>{0} does not allow this application to use your plan.</source>
        <translation>{0} 不允许此应用程序使用您的套餐。</translation>
    </message>
    <message>
        <source>{0} is not in the folder of this conversation.</source>
        <translation>{0} 不在此对话的文件夹中。</translation>
    </message>
    <message>
        <source>{0} entries must be tables</source>
        <translation>{0} 的条目必须是表</translation>
    </message>
    <message>
        <source>{0} file changed by the agent.</source>
        <translation>代理更改了 {0} 个文件。</translation>
    </message>
    <message>
        <source>{0} files changed by the agent.</source>
        <translation>代理更改了 {0} 个文件。</translation>
    </message>
    <message>
        <source>{0} has a git repository in it: {1}.</source>
        <translation>{0} 中有一个 git 仓库：{1}。</translation>
    </message>
    <message>
        <source>{0} has another disk or folder mounted in it: {1}.</source>
        <translation>{0} 中挂载了其他磁盘或文件夹：{1}。</translation>
    </message>
    <message>
        <source>{0} has become a {1}.</source>
        <translation>{0} 现在是 {1}。</translation>
    </message>
    <message>
        <source>{0} is a file, not a folder.</source>
        <translation>{0} 是文件，不是文件夹。</translation>
    </message>
    <message>
        <source>{0} is a {1} and cannot hold this.</source>
        <translation>{0} 是 {1}，无法容纳此内容。</translation>
    </message>
    <message>
        <source>{0} is for a server in the sandbox: add sandbox = true</source>
        <translation>{0} 用于沙盒中的服务器：请添加 sandbox = true</translation>
    </message>
    <message>
        <source>{0} is missing.</source>
        <translation>缺少 {0}。</translation>
    </message>
    <message>
        <source>Code cannot be applied to {0}.</source>
        <translation>{0} 不是可应用代码的文件。</translation>
    </message>
    <message>
        <source>`{0}` is saved, but {1} takes precedence over the settings file.</source>
        <translation>`{0}` 已保存，但 {1} 优先于设置文件。</translation>
    </message>
    <message>
        <source>a client_id that is a URL must have a path, because it leads to a description of the application</source>
        <translation>client_id 为 URL 时必须带有路径：它指向对应用的说明</translation>
    </message>
    <message>
        <source>a project&apos;s server gets no secrets from your keyring: remove secret_env</source>
        <translation>项目的服务器不会得到密钥环中的机密：请删除 secret_env</translation>
    </message>
    <message>
        <source>callback_port must be a port number, and needs the client_id that it is registered with</source>
        <translation>callback_port 必须是 client_id 注册时使用的端口</translation>
    </message>
    <message>
        <source>grant client_credentials needs client_id and issuer; the secret is sent only to that issuer</source>
        <translation>grant client_credentials 需要 client_id 和 issuer，机密只会发送给该 issuer</translation>
    </message>
    <message>
        <source>hosts contains {0}, which is not a host: write example.org, *.example.org, example.org:8080 or *</source>
        <translation>hosts 中的 {0} 不是主机：请写 example.org、*.example.org、example.org:8080 或 *</translation>
    </message>
    <message>
        <source>it contains a space or an invisible character</source>
        <translation>其中有空格或看不见的字符</translation>
    </message>
    <message>
        <source>it contains no host, {0}</source>
        <translation>其中没有主机，{0}</translation>
    </message>
    <message>
        <source>it is not a valid header name</source>
        <translation>这不是标头的名称</translation>
    </message>
    <message>
        <source>it must have 1 to 40 letters or digits; . _ + @ - are allowed between them</source>
        <translation>必须是 1 到 40 个字母或数字，其间可用 . _ + @ -</translation>
    </message>
    <message>
        <source>it must not contain ? or #, {0}</source>
        <translation>必须在 ? 和 # 之前结束，{0}</translation>
    </message>
    <message>
        <source>its host or port is not valid, {0}</source>
        <translation>主机或端口无效，{0}</translation>
    </message>
    <message>
        <source>mcp definition {0}: a name may have at most 32 letters, digits, &apos;-&apos; and single &apos;_&apos;</source>
        <translation>{0}：名称由字母、数字、“-”和单个“_”组成，最多 32 个字符</translation>
    </message>
    <message>
        <source>no change needed: {0}</source>
        <translation>已符合要求：{0}</translation>
    </message>
    <message>
        <source>no change needed: {0} ({1})</source>
        <translation>已符合要求：{0}（{1}）</translation>
    </message>
    <message>
        <source>none of your files</source>
        <translation>无</translation>
    </message>
    <message>
        <source>not all of it is UTF-8: other bytes are shown as numbers</source>
        <translation>并非全部为 UTF-8：非 UTF-8 字节以编号显示</translation>
    </message>
    <message>
        <source>on, above {0} tokens</source>
        <translation>开启，自 {0} 个令牌起</translation>
    </message>
    <message>
        <source>only an account with a name can have its own address</source>
        <translation>只有带名称的账户才有自己的地址</translation>
    </message>
    <message>
        <source>the application sets this header itself</source>
        <translation>由应用自行设置</translation>
    </message>
    <message>
        <source>too different to compare line by line: everything from the first to the last difference is shown as changed</source>
        <translation>差异过大，无法逐行比较：从第一处到最后一处差异之间的内容都显示为已更改</translation>
    </message>
    <message>
        <source>{0} Check it, then try again.</source>
        <translation>{0} 请再看一次。</translation>
    </message>
    <message>
        <source>{0} If this address expects the key in another header: `{1}`.</source>
        <translation>{0} 如果此地址要求用另一个请求头发送密钥：`{1}`。</translation>
    </message>
    <message>
        <source>{0} The connection goes through the proxy {1} ({2}).</source>
        <translation>{0} 连接经由代理服务器 {1}（{2}）。</translation>
    </message>
    <message>
        <source>{0} The sandbox blocks that, so the command would run outside it.</source>
        <translation>{0} 沙盒不允许，因此将在沙盒外运行。</translation>
    </message>
    <message>
        <source>{0} already exists, so nothing was written.</source>
        <translation>{0} 已存在，因此未写入任何内容。</translation>
    </message>
    <message>
        <source>{0} answers, but not in the format of this model&apos;s API.</source>
        <translation>{0} 有响应，但不符合此模型的 API。</translation>
    </message>
    <message>
        <source>{0} belongs to another user, and an undo could not restore its owner.</source>
        <translation>{0} 属于另一个用户，撤销无法将其归还。</translation>
    </message>
    <message>
        <source>{0} cannot be read completely.</source>
        <translation>无法完整读取 {0}。</translation>
    </message>
    <message>
        <source>{0} contains an empty folder name</source>
        <translation>{0} 中有一个没有名称的文件夹</translation>
    </message>
    <message>
        <source>{0} exceeds what is kept for an undo: {1} files and folders, or {2} MiB.</source>
        <translation>{0} 中的内容超出可为撤销保留的上限：{1} 个文件和文件夹，或 {2} MiB。</translation>
    </message>
    <message>
        <source>{0} has cost {1}, and its limit is {2}.</source>
        <translation>{0} 已花费 {1}，最多可花费 {2}。</translation>
    </message>
    <message>
        <source>{0} has no common history with what is checked out.</source>
        <translation>{0} 与当前检出的内容没有共同之处。</translation>
    </message>
    <message>
        <source>{0} has no effort levels.</source>
        <translation>{0} 不支持推理强度。</translation>
    </message>
    <message>
        <source>{0} is hard-linked, and an undo would break the link.</source>
        <translation>{0} 还有另一个名称（硬链接），撤销会使二者分离。</translation>
    </message>
    <message>
        <source>{0} is no longer there.</source>
        <translation>{0} 已不存在。</translation>
    </message>
    <message>
        <source>{0} is not a scope of /rewind.</source>
        <translation>{0} 不是 /rewind 的范围。</translation>
    </message>
    <message>
        <source>{0} is not UTF-8 text.</source>
        <translation>{0} 不是 UTF-8 文本。</translation>
    </message>
    <message>
        <source>{0} is not encrypted, and {1} names this proxy. Use an https:// address, add the host to NO_PROXY, or allow it: set model.allow_readable_proxy to true.</source>
        <translation>{0} 未加密，而 {1} 指定了此代理服务器。请使用 https:// 地址，将主机加入 NO_PROXY，或允许它：将 model.allow_readable_proxy 设为 true。</translation>
    </message>
    <message>
        <source>{0} is not encrypted: anyone on the way can read the key and the conversation.</source>
        <translation>{0} 未加密：传输途中的任何人都能读取密钥和对话。</translation>
    </message>
    <message>
        <source>{0} is not the number of a turn.</source>
        <translation>{0} 不是轮次编号。</translation>
    </message>
    <message>
        <source>{0} is outside of the folder, so it was not mentioned.</source>
        <translation>{0} 在文件夹之外，因此未提及。</translation>
    </message>
    <message>
        <source>{0} is overloaded, so {1} answers this request.</source>
        <translation>{0} 过载，因此由 {1} 回答此请求。</translation>
    </message>
    <message>
        <source>{0} is too long a name.</source>
        <translation>名称 {0} 太长。</translation>
    </message>
    <message>
        <source>{0} does not support the effort {1}, so it uses its default.</source>
        <translation>{0} 没有推理强度 {1}，因此按其自身方式思考。</translation>
    </message>
    <message>
        <source>{0} does not support the effort {1}.</source>
        <translation>{0} 没有推理强度 {1}。</translation>
    </message>
    <message>
        <source>{0} is not writable, so an undo could not restore its contents.</source>
        <translation>{0} 不可写入，因此撤销无法重新放入其内容。</translation>
    </message>
    <message>
        <source>{0} records of this session could not be read and were left out.</source>
        <translation>此会话有 {0} 条记录无法读取，已略过。</translation>
    </message>
    <message>
        <source>{0} refused the effort {1}, so it uses its default.</source>
        <translation>{0} 拒绝了推理强度 {1}，因此按其自身方式思考。</translation>
    </message>
    <message>
        <source>{0} refused to finish the sign-in.</source>
        <translation>{0} 拒绝完成登录。</translation>
    </message>
    <message>
        <source>{0} sent the browser back without an answer.</source>
        <translation>{0} 未带答复就让浏览器返回。</translation>
    </message>
    <message>
        <source>{0} must be letters, digits and . _ - : without spaces</source>
        <translation>{0} 只能包含字母、数字和 . _ - :，不能有空格</translation>
    </message>
    <message>
        <source>{0} must be positive</source>
        <translation>{0} 必须为正数</translation>
    </message>
    <message>
        <source>{0} was changed in the meantime, so it was not written.</source>
        <translation>{0} 在此期间已更改，因此未写入。</translation>
    </message>
    <message>
        <source>{0} was changed in the meantime.</source>
        <translation>{0} 在此期间已更改。</translation>
    </message>
    <message>
        <source>{0} was not renamed.</source>
        <translation>{0} 未重命名。</translation>
    </message>
    <message>
        <source>{0} was not written.</source>
        <translation>{0} 未写入。</translation>
    </message>
    <message>
        <source>{0}, and what is read goes to the model.</source>
        <translation>{0}，而读取的内容会发送给模型。</translation>
    </message>
    <message>
        <source>{0}, so only the requests, files and to-dos of the older turns were kept.</source>
        <translation>{0}，因此较早的轮次只保留了所提的要求、文件和待办事项。</translation>
    </message>
    <message>
        <source>{0}: the rules file has mistakes.</source>
        <translation>{0}：规则文件有错误。</translation>
    </message>
    <message>
        <source>{0}=(from your keyring)</source>
        <translation>{0}=（来自您的密钥环）</translation>
    </message>
</context>
<context>
    <name>CostLabel</name>
    <message>
        <source>Click to see the usage of all sessions.</source>
        <translation>点击查看所有会话的用量。</translation>
    </message>
    <message>
        <source>Cost of this session</source>
        <translation>此会话的费用</translation>
    </message>
    <message>
        <source>Last turn: {0}</source>
        <translation>上一轮：{0}</translation>
    </message>
    <message>
        <source>The price of {0} tokens is not known: the cost is higher.</source>
        <translation>{0} 个 token 的价格未知：实际费用更高。</translation>
    </message>
    <message>
        <source>This session: {0}</source>
        <translation>此会话：{0}</translation>
    </message>
    <message>
        <source>{0} % of the tokens read came from the cache</source>
        <translation>读取内容的 {0}% 来自缓存</translation>
    </message>
    <message>
        <source>{0} tokens read by the model, {1} written</source>
        <translation>模型读取 {0} 个 token，写入 {1} 个</translation>
    </message>
</context>
<context>
    <name>CrashBar</name>
    <message>
        <source>A report was saved on this computer. Nothing was sent.</source>
        <translation>报告已保存在此计算机上，未发送任何内容。</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>复制</translation>
    </message>
    <message>
        <source>Desktop Agent ended unexpectedly the last time.</source>
        <translation>Desktop Agent 上次意外退出。</translation>
    </message>
    <message>
        <source>Discard</source>
        <translation>放弃</translation>
    </message>
    <message>
        <source>Open folder</source>
        <translation>打开文件夹</translation>
    </message>
    <message>
        <source>Report</source>
        <translation>报告</translation>
    </message>
    <message>
        <source>Show report</source>
        <translation>显示报告</translation>
    </message>
</context>
<context>
    <name>Dates</name>
    <message>
        <source>MMM yyyy</source>
        <translation>yyyy年M月</translation>
    </message>
    <message>
        <source>d MMM</source>
        <translation>M月d日</translation>
    </message>
</context>
<context>
    <name>DeleteQuestion</name>
    <message>
        <source>Delete</source>
        <translation>删除</translation>
    </message>
    <message numerus="yes">
        <source>Delete %n sessions?</source>
        <translation>
            <numerusform>删除 %n 个会话？</numerusform>
        </translation>
    </message>
    <message>
        <source>Delete session</source>
        <translation>删除会话</translation>
    </message>
    <message>
        <source>Delete sessions</source>
        <translation>删除会话</translation>
    </message>
    <message>
        <source>Delete “{0}”?</source>
        <translation>删除“{0}”？</translation>
    </message>
    <message>
        <source>Its worktree {0} stays, with its files and its branch.</source>
        <translation>它的工作树 {0} 会保留，包括其文件和分支。</translation>
    </message>
    <message>
        <source>New session</source>
        <translation>新会话</translation>
    </message>
    <message>
        <source>The conversation ({0}) and the undo history of its changes are deleted permanently.</source>
        <translation>对话（{0}）及其更改的撤销历史将被永久删除。</translation>
    </message>
    <message>
        <source>The conversations ({0}) and the undo history of their changes are deleted permanently.</source>
        <translation>这些对话（{0}）及其更改的撤销历史将被永久删除。</translation>
    </message>
    <message>
        <source>The files in their folders stay as they are.</source>
        <translation>其文件夹中的文件保持不变。</translation>
    </message>
    <message>
        <source>The files in {0} stay as they are.</source>
        <translation>{0} 中的文件保持不变。</translation>
    </message>
</context>
<context>
    <name>DiffDocument</name>
    <message>
        <source>Nothing to show</source>
        <translation>没有可显示的内容</translation>
    </message>
    <message>
        <source>The file has only one version to show</source>
        <translation>该文件只有一个版本可显示</translation>
    </message>
    <message>
        <source>Too narrow for two columns</source>
        <translation>太窄，放不下两栏</translation>
    </message>
</context>
<context>
    <name>DiffLoader</name>
    <message>
        <source>Loading…</source>
        <translation>正在加载…</translation>
    </message>
    <message>
        <source>The change could not be shown</source>
        <translation>无法显示该更改</translation>
    </message>
    <message>
        <source>The log has the details.</source>
        <translation>详情见日志。</translation>
    </message>
</context>
<context>
    <name>DiffMouse</name>
    <message>
        <source>Copy</source>
        <translation>复制</translation>
    </message>
    <message>
        <source>Select all</source>
        <translation>全选</translation>
    </message>
</context>
<context>
    <name>DiffPane</name>
    <message>
        <source>Find in the changes of this file</source>
        <translation>在此文件的更改中查找</translation>
    </message>
    <message>
        <source>Find in this file</source>
        <translation>在此文件中查找</translation>
    </message>
</context>
<context>
    <name>DiffView</name>
    <message numerus="yes">
        <source>%n bytes</source>
        <translation>
            <numerusform>%n 字节</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n unchanged lines</source>
        <translation>
            <numerusform>%n 行未更改</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n unchanged lines, {0} with a different line ending</source>
        <translation>
            <numerusform>%n 行未更改，其中 {0} 行换行符不同</numerusform>
        </translation>
    </message>
    <message>
        <source>Binary file</source>
        <translation>二进制文件</translation>
    </message>
    <message>
        <source>Change {0} of {1}: {2}</source>
        <translation>更改 {0}/{1}：{2}</translation>
    </message>
    <message>
        <source>Changes in {0}: {1}, {2}</source>
        <translation>{0} 的更改：{1}，{2}</translation>
    </message>
    <message>
        <source>Empty file</source>
        <translation>空文件</translation>
    </message>
    <message>
        <source>Folder</source>
        <translation>文件夹</translation>
    </message>
    <message numerus="yes">
        <source>Line endings of %n lines</source>
        <translation>
            <numerusform>%n 行的换行符</numerusform>
        </translation>
    </message>
    <message>
        <source>Line {0} added: {1}</source>
        <translation>添加第 {0} 行：{1}</translation>
    </message>
    <message>
        <source>Line {0} removed: {1}</source>
        <translation>删除第 {0} 行：{1}</translation>
    </message>
    <message>
        <source>Line {0}: {1}. Changed to line {2}: {3}</source>
        <translation>第 {0} 行原为 {1}，现为第 {2} 行：{3}</translation>
    </message>
    <message>
        <source>Line {0}: {1}</source>
        <translation>第 {0} 行：{1}</translation>
    </message>
    <message numerus="yes">
        <source>%n errors</source>
        <translation>
            <numerusform>%n 个错误</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n warnings</source>
        <translation>
            <numerusform>%n 个警告</numerusform>
        </translation>
    </message>
    <message>
        <source>Error: {0}</source>
        <translation>错误：{0}</translation>
    </message>
    <message>
        <source>MCP server</source>
        <translation>MCP 服务器</translation>
    </message>
    <message>
        <source>Named pipe</source>
        <translation>命名管道</translation>
    </message>
    <message>
        <source>No changes to show</source>
        <translation>没有可显示的更改</translation>
    </message>
    <message>
        <source>Note: {0}</source>
        <translation>提示：{0}</translation>
    </message>
    <message numerus="yes">
        <source>Only the line endings of %n lines changed</source>
        <translation>
            <numerusform>%n 行，仅换行符更改</numerusform>
        </translation>
    </message>
    <message>
        <source>Permissions</source>
        <translation>权限</translation>
    </message>
    <message>
        <source>Show</source>
        <translation>显示</translation>
    </message>
    <message>
        <source>Socket</source>
        <translation>套接字</translation>
    </message>
    <message>
        <source>The whole file</source>
        <translation>整个文件</translation>
    </message>
    <message>
        <source>Too large to show line by line</source>
        <translation>过大，无法逐行显示</translation>
    </message>
    <message>
        <source>Warning: {0}</source>
        <translation>警告：{0}</translation>
    </message>
    <message>
        <source>You, on line {0}</source>
        <translation>您，对第 {0} 行</translation>
    </message>
    <message>
        <source>You, on lines {0}–{1}</source>
        <translation>您，对第 {0}–{1} 行</translation>
    </message>
    <message>
        <source>You, on old line {0}</source>
        <translation>您，对旧第 {0} 行</translation>
    </message>
    <message>
        <source>You, on old lines {0}–{1}</source>
        <translation>您，对旧第 {0}–{1} 行</translation>
    </message>
    <message>
        <source>You, on this file</source>
        <translation>您，对此文件</translation>
    </message>
    <message>
        <source>a running server, or you</source>
        <translation>正在运行的服务器或您</translation>
    </message>
    <message>
        <source>agent</source>
        <translation>代理</translation>
    </message>
    <message>
        <source>committed</source>
        <translation>已提交</translation>
    </message>
    <message>
        <source>created</source>
        <translation>已创建</translation>
    </message>
    <message>
        <source>created, {0}</source>
        <translation>已创建，{0}</translation>
    </message>
    <message>
        <source>deleted</source>
        <translation>已删除</translation>
    </message>
    <message>
        <source>deleted, was {0}</source>
        <translation>已删除，原为 {0}</translation>
    </message>
    <message>
        <source>kept</source>
        <translation>已保留</translation>
    </message>
    <message>
        <source>line {0}</source>
        <translation>第 {0} 行</translation>
    </message>
    <message>
        <source>line {0} removed</source>
        <translation>删除第 {0} 行</translation>
    </message>
    <message>
        <source>lines {0}–{1}</source>
        <translation>第 {0}–{1} 行</translation>
    </message>
    <message>
        <source>lines {0}–{1} removed</source>
        <translation>删除第 {0}–{1} 行</translation>
    </message>
    <message>
        <source>moved from line {0}</source>
        <translation>从第 {0} 行移来</translation>
    </message>
    <message>
        <source>moved to line {0}</source>
        <translation>移到第 {0} 行</translation>
    </message>
    <message>
        <source>no newline at the end</source>
        <translation>文件末尾无换行符</translation>
    </message>
    <message>
        <source>not brought back</source>
        <translation>未取回</translation>
    </message>
    <message>
        <source>not decided</source>
        <translation>未决定</translation>
    </message>
    <message>
        <source>shell</source>
        <translation>shell</translation>
    </message>
    <message>
        <source>undo</source>
        <translation>撤销</translation>
    </message>
    <message>
        <source>undone</source>
        <translation>已撤销</translation>
    </message>
    <message>
        <source>you</source>
        <translation>您</translation>
    </message>
    <message>
        <source>{0}, folded. Press Enter to show them</source>
        <translation>{0}，已折叠。按 Enter 显示</translation>
    </message>
</context>
<context>
    <name>DifferenceDialog</name>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>Differences between the file on disk and yours</source>
        <translation>从磁盘上的文件到您的版本</translation>
    </message>
</context>
<context>
    <name>DoneBar</name>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>撤销</translation>
    </message>
</context>
<context>
    <name>DoneStep</name>
    <message>
        <source>Another one can be chosen below the message field at any time.</source>
        <translation>随时可以在消息框下方选择其他模型。</translation>
    </message>
    <message>
        <source>Begin</source>
        <translation>开始</translation>
    </message>
    <message>
        <source>Connected with {0}</source>
        <translation>已连接到 {0}</translation>
    </message>
    <message numerus="yes">
        <source>It has %n models. New conversations begin with the one that you choose here.</source>
        <translation>
            <numerusform>共有 %n 个模型。新对话将使用您在此选择的模型。</numerusform>
        </translation>
    </message>
    <message>
        <source>Model</source>
        <translation>模型</translation>
    </message>
</context>
<context>
    <name>EarlyMessage</name>
    <message>
        <source>It is sent automatically once loading is done, unless you change it.</source>
        <translation>加载完成后会自动发送，除非您修改它。</translation>
    </message>
    <message>
        <source>It stays in the field. Choose a folder, then send it.</source>
        <translation>它仍在输入框中。请先选择文件夹，再发送。</translation>
    </message>
    <message>
        <source>It stays in the message field. Open the right conversation, then send it.</source>
        <translation>它会保留在消息框中。请打开正确的对话，然后发送。</translation>
    </message>
    <message>
        <source>Your message is not sent yet: the window is still loading.</source>
        <translation>消息尚未发送：窗口仍在加载。</translation>
    </message>
    <message>
        <source>Your message is not sent: no folder is open.</source>
        <translation>消息未发送：没有打开的文件夹。</translation>
    </message>
    <message>
        <source>Your message is not sent: you chose something else meanwhile.</source>
        <translation>消息未发送：您在此期间选择了其他内容。</translation>
    </message>
</context>
<context>
    <name>EffortChoice</name>
    <message>
        <source>The model decides</source>
        <translation>由模型自行决定</translation>
    </message>
    <message>
        <source>Effort</source>
        <translation>推理强度</translation>
    </message>
    <message>
        <source>default</source>
        <translation>默认</translation>
    </message>
    <message>
        <source>{0} effort</source>
        <translation>推理强度 {0}</translation>
    </message>
</context>
<context>
    <name>EmptyPage</name>
    <message>
        <source>Every file that the agent creates, edits or deletes appears here, ready to be undone.</source>
        <translation>代理创建、编辑或删除的每个文件都会显示在这里，随时可以撤销。</translation>
    </message>
    <message>
        <source>No changes yet</source>
        <translation>尚无更改</translation>
    </message>
    <message>
        <source>Reading the changes…</source>
        <translation>正在读取更改…</translation>
    </message>
    <message>
        <source>Review uncommitted changes</source>
        <translation>审阅未提交的更改</translation>
    </message>
    <message>
        <source>The changes could not be read</source>
        <translation>无法读取更改</translation>
    </message>
</context>
<context>
    <name>EmptyState</name>
    <message>
        <source>A project with a bug</source>
        <translation>一个有错误的项目</translation>
    </message>
    <message>
        <source>Ask a question about this folder, or ask for a change. You see every step and can undo it.</source>
        <translation>就此文件夹提问，或请求更改。您能看到每一步，并可随时撤销。</translation>
    </message>
    <message>
        <source>Explain how this project is put together</source>
        <translation>解释这个项目的结构</translation>
    </message>
    <message>
        <source>Find a bug and fix it, with a test</source>
        <translation>找到一个缺陷并修复，附带测试</translation>
    </message>
    <message>
        <source>Send the message below: a scripted model finds the bug and fixes it. The tools, the changes and the undo are real.</source>
        <translation>发送下面的消息：脚本模型会找到错误并修复它。工具、更改和撤销都是真实的。</translation>
    </message>
    <message>
        <source>What shall we work on?</source>
        <translation>我们来做什么？</translation>
    </message>
    <message>
        <source>Write a README for this folder</source>
        <translation>为此文件夹写一份 README</translation>
    </message>
</context>
<context>
    <name>Examples</name>
    <message>
        <source>Add a test for an empty list, and note the fix in the changelog.</source>
        <translation>请为空列表添加一个测试，并在变更日志中记录这次修复。</translation>
    </message>
    <message>
        <source>Find code that nothing uses.</source>
        <translation>找出没有被使用的代码。</translation>
    </message>
    <message>
        <source>One of the tests fails. Find out why, fix it, and run the tests again.</source>
        <translation>有一个测试失败了。请找出原因并修复，然后重新运行测试。</translation>
    </message>
    <message>
        <source>Run the tests and fix what fails.</source>
        <translation>运行测试并修复失败的部分。</translation>
    </message>
    <message>
        <source>What does this project do?</source>
        <translation>这个项目是做什么的？</translation>
    </message>
</context>
<context>
    <name>ExtensionCard</name>
    <message>
        <source>About how many tokens its text takes once it is read</source>
        <translation>其文本被读取后大约占用的令牌数</translation>
    </message>
    <message>
        <source>It cannot be used: {0}.</source>
        <translation>无法使用：{0}。</translation>
    </message>
    <message>
        <source>It is not used: {0}.</source>
        <translation>未使用：{0}。</translation>
    </message>
    <message>
        <source>It waits until you trust the project.</source>
        <translation>它会等到您信任该项目。</translation>
    </message>
    <message>
        <source>It or its script has changed since your answer, so it waits.</source>
        <translation>自您回答以来，它或其脚本已更改，因此正在等待。</translation>
    </message>
    <message>
        <source>It does not run. {0}</source>
        <translation>它未运行。{0}</translation>
    </message>
    <message>
        <source>It waits for your answer about its plugin.</source>
        <translation>它在等待您对其插件的回答。</translation>
    </message>
    <message>
        <source>Only the model uses it.</source>
        <translation>只有模型使用它。</translation>
    </message>
    <message>
        <source>Run the hook {0}</source>
        <translation>运行钩子 {0}</translation>
    </message>
    <message>
        <source>The model does not see it; you call it by its name.</source>
        <translation>模型看不到它；您用它的名称调用它。</translation>
    </message>
    <message>
        <source>Use the language server {0}</source>
        <translation>使用语言服务器 {0}</translation>
    </message>
    <message>
        <source>Use the skill {0}</source>
        <translation>使用技能 {0}</translation>
    </message>
    <message>
        <source>{0} tokens</source>
        <translation>{0} 个令牌</translation>
    </message>
</context>
<context>
    <name>ExtensionsPage</name>
    <message>
        <source>Commands that run at certain events of a session, such as before a call: yours, and the project&apos;s once you trust them. They run as you do, outside the sandbox.</source>
        <translation>在会话的特定时刻（例如调用之前）运行的命令：您自己的，以及您信任后的项目命令。它们以您的身份在沙盒之外运行。</translation>
    </message>
    <message>
        <source>Instructions for particular tasks, from the folders of all agents. The model sees their names and purposes, and reads a skill when it fits the task. You call one with a slash and its name.</source>
        <translation>针对特定任务的说明，来自所有代理的文件夹。模型看到它们的名称和用途，并在技能适合任务时读取它。您可以用斜杠加名称来调用。</translation>
    </message>
    <message>
        <source>Supported, but not installed: {0}.</source>
        <translation>受支持但未安装：{0}。</translation>
    </message>
    <message>
        <source>Programs that find errors in code. They check the files that a call changed; the model reads what is new, and the review marks it. They run in the sandbox.</source>
        <translation>查找代码错误的程序。它们检查调用所更改的文件；模型会读到新出现的问题，审阅中会加以标记。它们在沙盒中运行。</translation>
    </message>
    <message>
        <source>Their list takes about {0} tokens of each request.</source>
        <translation>其列表在每次请求中大约占用 {0} 个令牌。</translation>
    </message>
    <message>
        <source>There are no hooks. Define yours in the settings file, in tables [[hooks.definitions]]; a project&apos;s are in files such as .claude/settings.json.</source>
        <translation>没有钩子。请在设置文件的 [[hooks.definitions]] 表中定义您自己的钩子；项目的钩子在 .claude/settings.json 等文件中。</translation>
    </message>
    <message>
        <source>There are no language servers. Install a supported one, or define your own in the settings file, in a table [[diagnostics.definitions]].</source>
        <translation>没有语言服务器。请安装一个受支持的服务器，或在设置文件的 [[diagnostics.definitions]] 表中定义您自己的服务器。</translation>
    </message>
    <message>
        <source>There are no skills. A skill is a folder with a file SKILL.md, such as .agents/skills/release/SKILL.md, in this folder or in your home folder.</source>
        <translation>没有技能。技能是一个含有 SKILL.md 文件的文件夹，例如此文件夹或您主文件夹中的 .agents/skills/release/SKILL.md。</translation>
    </message>
</context>
<context>
    <name>FenceButtons</name>
    <message>
        <source>Apply code to a file</source>
        <translation>将代码应用到文件</translation>
    </message>
    <message>
        <source>Apply…</source>
        <translation>应用…</translation>
    </message>
    <message>
        <source>Copied</source>
        <translation>已复制</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>复制</translation>
    </message>
    <message>
        <source>Copy code</source>
        <translation>复制代码</translation>
    </message>
</context>
<context>
    <name>FenceLabel</name>
    <message>
        <source>{0}: diagram, shown as source</source>
        <translation>{0}：图表，显示为源代码</translation>
    </message>
    <message>
        <source>{0}: formula, shown as source</source>
        <translation>{0}：公式，显示为源代码</translation>
    </message>
</context>
<context>
    <name>FileBar</name>
    <message numerus="yes">
        <source>%n changes</source>
        <translation>
            <numerusform>%n 处更改</numerusform>
        </translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Decide later</source>
        <translation>稍后决定</translation>
    </message>
    <message>
        <source>Discard</source>
        <translation>放弃</translation>
    </message>
    <message>
        <source>Edit</source>
        <translation>编辑</translation>
    </message>
    <message>
        <source>Edit the file here</source>
        <translation>在此编辑文件</translation>
    </message>
    <message>
        <source>Keep editing</source>
        <translation>继续编辑</translation>
    </message>
    <message>
        <source>Show the old and the new lines in two columns</source>
        <translation>分两栏显示旧行和新行</translation>
    </message>
    <message>
        <source>This diff is too large to wrap its lines</source>
        <translation>此差异太大，无法自动换行</translation>
    </message>
    <message>
        <source>Whole window</source>
        <translation>整个窗口</translation>
    </message>
    <message>
        <source>Wrap lines</source>
        <translation>自动换行</translation>
    </message>
    <message>
        <source>Keep</source>
        <translation>保留</translation>
    </message>
    <message>
        <source>Bring back</source>
        <translation>取回</translation>
    </message>
    <message>
        <source>Keep this file</source>
        <translation>保留此文件</translation>
    </message>
    <message>
        <source>Redo</source>
        <translation>重做</translation>
    </message>
    <message>
        <source>Redo this change</source>
        <translation>重新应用此更改</translation>
    </message>
    <message>
        <source>Save</source>
        <translation>保存</translation>
    </message>
    <message>
        <source>Show only the review (Esc shows everything again)</source>
        <translation>隐藏审阅以外的所有内容（按 Esc 恢复）</translation>
    </message>
    <message>
        <source>Show the call behind this change</source>
        <translation>显示产生此更改的调用</translation>
    </message>
    <message>
        <source>Show the call: {0}</source>
        <translation>显示调用：{0}</translation>
    </message>
    <message>
        <source>Side by side</source>
        <translation>并排</translation>
    </message>
    <message>
        <source>Stop editing (Esc)</source>
        <translation>停止编辑 (Esc)</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>撤销</translation>
    </message>
    <message>
        <source>Undo this file</source>
        <translation>撤销此文件</translation>
    </message>
    <message>
        <source>Wrap long lines instead of scrolling sideways</source>
        <translation>将长行折到下一行，而不是超出边缘</translation>
    </message>
    <message>
        <source>Write the file (Ctrl+S)</source>
        <translation>写入文件 (Ctrl+S)</translation>
    </message>
    <message>
        <source>{0} committed</source>
        <translation>{0} 处已提交</translation>
    </message>
    <message>
        <source>{0} kept</source>
        <translation>保留 {0} 处</translation>
    </message>
    <message>
        <source>{0} not brought back</source>
        <translation>{0} 处未取回</translation>
    </message>
    <message>
        <source>{0} undone</source>
        <translation>撤销 {0} 处</translation>
    </message>
    <message>
        <source>✓ Kept</source>
        <translation>✓ 已保留</translation>
    </message>
</context>
<context>
    <name>FileChanging</name>
    <message>
        <source>{0} was deleted.</source>
        <translation>{0} 已删除。</translation>
    </message>
    <message>
        <source>{0} was renamed to {1}.</source>
        <translation>{0} 现在是 {1}。</translation>
    </message>
</context>
<context>
    <name>FileDecisions</name>
    <message>
        <source>Undo {0}</source>
        <translation>撤销 {0}</translation>
    </message>
    <message>
        <source>You changed this yourself</source>
        <translation>这是您自己的更改</translation>
    </message>
    <message>
        <source>turn {0} · {1}</source>
        <translation>第 {0} 轮 · {1}</translation>
    </message>
</context>
<context>
    <name>FileEditing</name>
    <message>
        <source>A character does not fit the file&apos;s encoding.</source>
        <translation>有字符不符合文件的编码。</translation>
    </message>
    <message>
        <source>Discard your edits?</source>
        <translation>放弃您的编辑？</translation>
    </message>
    <message>
        <source>Only text can be edited here</source>
        <translation>此处只能编辑文本</translation>
    </message>
    <message>
        <source>Saving…</source>
        <translation>正在保存…</translation>
    </message>
    <message>
        <source>Text of {0}</source>
        <translation>{0} 的文本</translation>
    </message>
    <message>
        <source>The file has changed meanwhile. Copy what you need, then cancel.</source>
        <translation>文件在此期间已更改。请复制所需内容，然后取消。</translation>
    </message>
    <message>
        <source>The file has changed since it was shown</source>
        <translation>文件自显示以来已更改</translation>
    </message>
    <message>
        <source>The file is being loaded</source>
        <translation>正在加载文件</translation>
    </message>
    <message>
        <source>There is no file to edit</source>
        <translation>没有可编辑的文件</translation>
    </message>
    <message>
        <source>Too large to edit here</source>
        <translation>过大，无法在此编辑</translation>
    </message>
</context>
<context>
    <name>FileSaving</name>
    <message>
        <source>Some of these changes are undone. To edit the file as it is on disk, review uncommitted changes</source>
        <translation>显示的部分内容已撤销。请审阅未提交的更改，以编辑文件现状</translation>
    </message>
    <message>
        <source>The file has changed since. Review uncommitted changes to edit it as it is</source>
        <translation>文件此后已更改。请审阅未提交的更改，以编辑文件现状</translation>
    </message>
    <message>
        <source>There is no file to edit</source>
        <translation>没有可编辑的文件</translation>
    </message>
</context>
<context>
    <name>FileTabs</name>
    <message>
        <source>Close (Ctrl+W)</source>
        <translation>关闭 (Ctrl+W)</translation>
    </message>
    <message>
        <source>Close {0}</source>
        <translation>关闭 {0}</translation>
    </message>
    <message>
        <source>Review</source>
        <translation>审阅</translation>
    </message>
    <message>
        <source>Review and open files</source>
        <translation>审阅和打开的文件</translation>
    </message>
    <message>
        <source>{0}, not saved</source>
        <translation>{0}，未保存</translation>
    </message>
</context>
<context>
    <name>FileTree</name>
    <message>
        <source>Choose a folder to see its files.</source>
        <translation>选择一个文件夹以查看其文件。</translation>
    </message>
    <message>
        <source>Files</source>
        <translation>文件</translation>
    </message>
    <message>
        <source>Filter files</source>
        <translation>筛选文件</translation>
    </message>
    <message>
        <source>No file matches.</source>
        <translation>没有匹配的文件。</translation>
    </message>
    <message>
        <source>No marks: git is not installed.</source>
        <translation>无标记：未安装 git。</translation>
    </message>
    <message>
        <source>No marks: git says “{0}”</source>
        <translation>无标记：git 提示“{0}”</translation>
    </message>
    <message>
        <source>No marks: git took too long.</source>
        <translation>无标记：git 耗时过长。</translation>
    </message>
    <message>
        <source>No marks: this folder&apos;s git repository was replaced by another one.</source>
        <translation>无标记：此文件夹的 git 存储库已被另一个存储库取代。</translation>
    </message>
    <message>
        <source>This folder cannot be read: {0}</source>
        <translation>无法读取此文件夹：{0}</translation>
    </message>
    <message>
        <source>This folder is empty.</source>
        <translation>此文件夹为空。</translation>
    </message>
    <message>
        <source>added</source>
        <translation>已添加</translation>
    </message>
    <message>
        <source>changed by the agent</source>
        <translation>由代理更改</translation>
    </message>
    <message>
        <source>contains changes</source>
        <translation>包含更改</translation>
    </message>
    <message>
        <source>contains merge conflicts</source>
        <translation>包含合并冲突</translation>
    </message>
    <message>
        <source>contains new files</source>
        <translation>包含新文件</translation>
    </message>
    <message>
        <source>deleted</source>
        <translation>已删除</translation>
    </message>
    <message>
        <source>has merge conflicts</source>
        <translation>有合并冲突</translation>
    </message>
    <message>
        <source>ignored by git</source>
        <translation>被 git 忽略</translation>
    </message>
    <message>
        <source>modified</source>
        <translation>已修改</translation>
    </message>
    <message>
        <source>new, not in git yet</source>
        <translation>新文件，尚未纳入 git</translation>
    </message>
    <message>
        <source>renamed from {0}</source>
        <translation>由 {0} 重命名</translation>
    </message>
    <message>
        <source>{0} of {1} files</source>
        <translation>{1} 个文件中的 {0} 个</translation>
    </message>
</context>
<context>
    <name>FileTreeModel</name>
    <message>
        <source>folder, closed</source>
        <translation>文件夹，已折叠</translation>
    </message>
    <message>
        <source>folder, open</source>
        <translation>文件夹，已展开</translation>
    </message>
    <message>
        <source>link</source>
        <translation>链接</translation>
    </message>
</context>
<context>
    <name>FileTurns</name>
    <message>
        <source>Before the first message</source>
        <translation>第一条消息之前</translation>
    </message>
    <message>
        <source>Turn {0}</source>
        <translation>第 {0} 轮</translation>
    </message>
    <message>
        <source>undone</source>
        <translation>已撤销</translation>
    </message>
    <message>
        <source>you</source>
        <translation>您</translation>
    </message>
</context>
<context>
    <name>FileWriting</name>
    <message>
        <source>Another folder is open now. Open {0} first.</source>
        <translation>现在打开的是另一个文件夹。请先打开 {0}。</translation>
    </message>
    <message>
        <source>The conversation did not answer, so it is not known whether that was done.</source>
        <translation>对话没有响应，因此不知道操作是否完成。</translation>
    </message>
</context>
<context>
    <name>FilterButton</name>
    <message>
        <source>A server, or me</source>
        <translation>服务器或我</translation>
    </message>
    <message>
        <source>Agent</source>
        <translation>代理</translation>
    </message>
    <message>
        <source>Everyone</source>
        <translation>所有人</translation>
    </message>
    <message>
        <source>Files listed: {0}</source>
        <translation>列出的文件：{0}</translation>
    </message>
    <message>
        <source>Filter by path…</source>
        <translation>按路径筛选…</translation>
    </message>
    <message>
        <source>In any state</source>
        <translation>任何状态</translation>
    </message>
    <message>
        <source>In conflict</source>
        <translation>有冲突</translation>
    </message>
    <message>
        <source>Kept</source>
        <translation>已保留</translation>
    </message>
    <message>
        <source>MCP</source>
        <translation>MCP</translation>
    </message>
    <message>
        <source>Me</source>
        <translation>我</translation>
    </message>
    <message>
        <source>Shell</source>
        <translation>Shell</translation>
    </message>
    <message>
        <source>Undecided</source>
        <translation>未决定</translation>
    </message>
    <message>
        <source>Undone</source>
        <translation>已撤销</translation>
    </message>
</context>
<context>
    <name>FindBar</name>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>Looking…</source>
        <translation>正在查找…</translation>
    </message>
    <message>
        <source>Next match</source>
        <translation>下一个匹配</translation>
    </message>
    <message>
        <source>Nothing found</source>
        <translation>未找到</translation>
    </message>
    <message>
        <source>Previous match</source>
        <translation>上一个匹配</translation>
    </message>
    <message>
        <source>{0} of {1}</source>
        <translation>{0}/{1}</translation>
    </message>
    <message>
        <source>{0} of {1}+</source>
        <translation>{0}/{1}+</translation>
    </message>
</context>
<context>
    <name>Flaw</name>
    <message>
        <source>a complete message in place of stream chunks</source>
        <translation>流中出现了完整消息</translation>
    </message>
    <message>
        <source>a tool call whose ID changed</source>
        <translation>同一调用中 ID 发生变化</translation>
    </message>
    <message>
        <source>an answer that was not streamed</source>
        <translation>未以流方式返回的回答</translation>
    </message>
    <message>
        <source>an answer without the events that end it</source>
        <translation>缺少结束事件的回答</translation>
    </message>
    <message>
        <source>arguments encoded twice</source>
        <translation>参数被编码了两次</translation>
    </message>
    <message>
        <source>bytes that are not UTF-8</source>
        <translation>非 UTF-8 字节</translation>
    </message>
    <message>
        <source>tool calls with the wrong finish reason</source>
        <translation>含有调用但结束原因不同的回答</translation>
    </message>
    <message>
        <source>tool calls written as text</source>
        <translation>以文本形式写出的调用</translation>
    </message>
    <message>
        <source>unescaped line breaks in arguments</source>
        <translation>参数中未转义的换行</translation>
    </message>
    <message>
        <source>an answer without a finish reason</source>
        <translation>回答没有结束原因</translation>
    </message>
    <message>
        <source>several tool calls under one number</source>
        <translation>多个调用使用同一编号</translation>
    </message>
    <message>
        <source>thinking written into the answer</source>
        <translation>写进回答中的思考</translation>
    </message>
</context>
<context>
    <name>FoldBar</name>
    <message numerus="yes">
        <source>%n more lines</source>
        <translation>
            <numerusform>还有 %n 行</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>1 line continues for another %n characters</source>
        <translation>
            <numerusform>1 行还有 %n 个字符</numerusform>
        </translation>
    </message>
    <message>
        <source>Scroll through all of it to enable Allow</source>
        <translation>滚动查看全部内容后才能允许</translation>
    </message>
    <message>
        <source>Show more</source>
        <translation>显示更多</translation>
    </message>
    <message>
        <source>This is too long to be shown whole, so it can only be denied</source>
        <translation>内容过长，无法完整显示，因此只能拒绝</translation>
    </message>
    <message>
        <source>You have seen all of it</source>
        <translation>您已看完全部内容</translation>
    </message>
</context>
<context>
    <name>FormRow</name>
    <message>
        <source>Choose…</source>
        <translation>选择…</translation>
    </message>
    <message>
        <source>{label} (optional)</source>
        <translation>{label}（可选）</translation>
    </message>
</context>
<context>
    <name>FoundList</name>
    <message>
        <source>Search results</source>
        <translation>搜索结果</translation>
    </message>
</context>
<context>
    <name>FoundModel</name>
    <message>
        <source>Agent</source>
        <translation>代理</translation>
    </message>
    <message>
        <source>Change</source>
        <translation>更改</translation>
    </message>
    <message>
        <source>Command</source>
        <translation>命令</translation>
    </message>
    <message>
        <source>Output</source>
        <translation>输出</translation>
    </message>
    <message>
        <source>Session without a title</source>
        <translation>无标题会话</translation>
    </message>
    <message>
        <source>Title</source>
        <translation>标题</translation>
    </message>
    <message>
        <source>You</source>
        <translation>您</translation>
    </message>
</context>
<context>
    <name>HoldBanner</name>
    <message>
        <source>Nothing runs: settings that your safety depends on cannot be read.</source>
        <translation>已停止一切运行：无法读取与您的安全有关的设置。</translation>
    </message>
    <message>
        <source>Open the file</source>
        <translation>打开文件</translation>
    </message>
    <message>
        <source>Use defaults anyway</source>
        <translation>仍使用默认值</translation>
    </message>
    <message>
        <source>Valid settings apply. Defaults replace the others until you fix the file.</source>
        <translation>有效的设置仍然适用。其余使用默认值，直到您修正文件。</translation>
    </message>
    <message>
        <source>Work continues when you fix the file.</source>
        <translation>修正文件后工作将继续。</translation>
    </message>
</context>
<context>
    <name>HunkActions</name>
    <message>
        <source>Comment</source>
        <translation>评论</translation>
    </message>
    <message>
        <source>Comment on {0}</source>
        <translation>评论 {0}</translation>
    </message>
    <message>
        <source>Keep</source>
        <translation>保留</translation>
    </message>
    <message>
        <source>Keep {0}</source>
        <translation>保留 {0}</translation>
    </message>
    <message>
        <source>Kept: {0}</source>
        <translation>已保留：{0}</translation>
    </message>
    <message>
        <source>Decide later</source>
        <translation>稍后决定</translation>
    </message>
    <message>
        <source>Bring back</source>
        <translation>取回</translation>
    </message>
    <message>
        <source>Bring back {0}</source>
        <translation>取回 {0}</translation>
    </message>
    <message>
        <source>Bring this change back</source>
        <translation>取回此更改</translation>
    </message>
    <message>
        <source>Keep this change</source>
        <translation>保留此更改</translation>
    </message>
    <message>
        <source>Redo</source>
        <translation>重做</translation>
    </message>
    <message>
        <source>Redo this change</source>
        <translation>重新应用此更改</translation>
    </message>
    <message>
        <source>Redo {0}</source>
        <translation>重做 {0}</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>撤销</translation>
    </message>
    <message>
        <source>Undo this change</source>
        <translation>撤销此更改</translation>
    </message>
    <message>
        <source>Write a comment on these lines</source>
        <translation>对这些行写评论</translation>
    </message>
    <message>
        <source>Undo {0}</source>
        <translation>撤销 {0}</translation>
    </message>
    <message>
        <source>✓ Kept</source>
        <translation>✓ 已保留</translation>
    </message>
</context>
<context>
    <name>HunkChoice</name>
    <message>
        <source>Line endings</source>
        <translation>行尾</translation>
    </message>
    <message>
        <source>Permissions</source>
        <translation>权限</translation>
    </message>
    <message>
        <source>left out: {0}</source>
        <translation>未包含：{0}</translation>
    </message>
</context>
<context>
    <name>ImageView</name>
    <message>
        <source>After</source>
        <translation>更改后</translation>
    </message>
    <message>
        <source>Before</source>
        <translation>更改前</translation>
    </message>
    <message>
        <source>Blend</source>
        <translation>叠加</translation>
    </message>
    <message>
        <source>Deleted</source>
        <translation>已删除</translation>
    </message>
    <message>
        <source>Difference</source>
        <translation>差异</translation>
    </message>
    <message>
        <source>Opacity of the old version</source>
        <translation>旧版本的可见程度</translation>
    </message>
    <message>
        <source>New</source>
        <translation>新增</translation>
    </message>
    <message>
        <source>Picture before and after</source>
        <translation>更改前后的图片</translation>
    </message>
    <message>
        <source>Side by side</source>
        <translation>并排</translation>
    </message>
    <message>
        <source>Swipe</source>
        <translation>滑动</translation>
    </message>
    <message>
        <source>Position of the divider</source>
        <translation>滑动位置</translation>
    </message>
</context>
<context>
    <name>ImportedAlreadyQuestion</name>
    <message>
        <source>Import a conversation</source>
        <translation>导入对话</translation>
    </message>
    <message>
        <source>Import again</source>
        <translation>再次导入</translation>
    </message>
    <message>
        <source>Importing it again makes a second session; the first one stays.</source>
        <translation>再次导入会创建第二个会话；第一个保留。</translation>
    </message>
    <message>
        <source>Open it</source>
        <translation>打开</translation>
    </message>
    <message>
        <source>This conversation was imported already.</source>
        <translation>此对话已导入过。</translation>
    </message>
</context>
<context>
    <name>Inbox</name>
    <message numerus="yes">
        <source>%n questions waiting</source>
        <translation>
            <numerusform>%n 个问题等待处理</numerusform>
        </translation>
    </message>
    <message>
        <source>A spending limit is reached</source>
        <translation>已达到支出上限</translation>
    </message>
    <message>
        <source>A server has a question</source>
        <translation>有服务器提出问题</translation>
    </message>
    <message>
        <source>A hook ended the turn</source>
        <translation>一个钩子结束了本轮</translation>
    </message>
    <message>
        <source>A server wants to ask the model</source>
        <translation>有服务器想请求模型</translation>
    </message>
    <message>
        <source>A server wants you to visit a page</source>
        <translation>有服务器希望您访问一个页面</translation>
    </message>
    <message>
        <source>Allowed elsewhere: {0}</source>
        <translation>已在别处允许：{0}</translation>
    </message>
    <message>
        <source>Denied elsewhere: {0}</source>
        <translation>已在别处拒绝：{0}</translation>
    </message>
    <message>
        <source>New session</source>
        <translation>新会话</translation>
    </message>
    <message>
        <source>No longer waiting: {0}</source>
        <translation>不再等待：{0}</translation>
    </message>
    <message>
        <source>Open in another window; answer it there: {0}</source>
        <translation>已在另一个窗口中打开，请在那里回答：{0}</translation>
    </message>
    <message>
        <source>The agent has finished</source>
        <translation>代理已完成</translation>
    </message>
    <message>
        <source>The model refused</source>
        <translation>模型已拒绝</translation>
    </message>
    <message>
        <source>The session is open in another window. Answer the question there</source>
        <translation>该会话已在另一个窗口中打开。请在那里回答</translation>
    </message>
    <message>
        <source>The turn ended at a limit</source>
        <translation>本轮因达到限制而结束</translation>
    </message>
    <message>
        <source>The turn failed</source>
        <translation>本轮失败</translation>
    </message>
    <message>
        <source>The turn was stopped</source>
        <translation>本轮已停止</translation>
    </message>
    <message>
        <source>Wants to change files</source>
        <translation>想更改文件</translation>
    </message>
    <message>
        <source>Wants to run a command</source>
        <translation>想运行命令</translation>
    </message>
    <message>
        <source>Wants to run a command outside the sandbox</source>
        <translation>想在沙盒外运行命令</translation>
    </message>
    <message>
        <source>Wants to use a tool</source>
        <translation>想使用工具</translation>
    </message>
</context>
<context>
    <name>InboxButton</name>
    <message>
        <source>Inbox, nothing waiting</source>
        <translation>收件箱，没有等待项</translation>
    </message>
    <message>
        <source>Inbox, {0} new</source>
        <translation>收件箱，{0} 项新内容</translation>
    </message>
    <message>
        <source>Inbox, {0} waiting for you</source>
        <translation>收件箱，{0} 项等待您处理</translation>
    </message>
    <message>
        <source>Inbox, {0} waiting for you, {1} new</source>
        <translation>收件箱，{0} 项等待您处理，{1} 项新内容</translation>
    </message>
</context>
<context>
    <name>InboxNotifier</name>
    <message>
        <source>Click here, or start Desktop Agent again, to bring its window back.</source>
        <translation>单击此处，或再次启动 Desktop Agent，即可恢复其窗口。</translation>
    </message>
    <message>
        <source>Deny</source>
        <translation>拒绝</translation>
    </message>
    <message>
        <source>Desktop Agent goes on in the background.</source>
        <translation>Desktop Agent 正在后台继续运行。</translation>
    </message>
    <message>
        <source>Show</source>
        <translation>显示</translation>
    </message>
</context>
<context>
    <name>InboxPopup</name>
    <message>
        <source>And {0} more: answer some of these first.</source>
        <translation>还有 {0} 项：请先处理其中一些。</translation>
    </message>
    <message>
        <source>Inbox</source>
        <translation>收件箱</translation>
    </message>
    <message>
        <source>Mark all as seen</source>
        <translation>全部标为已看</translation>
    </message>
    <message>
        <source>Nothing is waiting for you</source>
        <translation>没有等待您的内容</translation>
    </message>
    <message>
        <source>Questions of all sessions appear here, and turns that ended while you were looking at something else.</source>
        <translation>这里显示所有会话的问题，以及您查看其他内容时结束的轮次。</translation>
    </message>
    <message>
        <source>Waiting for you</source>
        <translation>等待您的内容</translation>
    </message>
</context>
<context>
    <name>InboxRow</name>
    <message>
        <source>Answer here</source>
        <translation>在此回答</translation>
    </message>
    <message>
        <source>Mark as seen</source>
        <translation>标为已看</translation>
    </message>
    <message>
        <source>Show</source>
        <translation>显示</translation>
    </message>
    <message>
        <source>{0}: {1}</source>
        <translation>{0}：{1}</translation>
    </message>
</context>
<context>
    <name>JobRow</name>
    <message>
        <source>Ends this and everything it started:
{0}</source>
        <translation>结束此命令及其启动的所有进程：
{0}</translation>
    </message>
    <message>
        <source>No output</source>
        <translation>没有输出</translation>
    </message>
    <message>
        <source>Show its conversation</source>
        <translation>显示其对话</translation>
    </message>
    <message>
        <source>Show output</source>
        <translation>显示输出</translation>
    </message>
    <message>
        <source>Show the conversation of {0}</source>
        <translation>显示 {0} 的对话</translation>
    </message>
    <message>
        <source>Show the output of {0}</source>
        <translation>显示 {0} 的输出</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>停止</translation>
    </message>
    <message>
        <source>Stop {0}</source>
        <translation>停止 {0}</translation>
    </message>
    <message>
        <source>Stopping…</source>
        <translation>正在停止…</translation>
    </message>
</context>
<context>
    <name>Jobs</name>
    <message numerus="yes">
        <source>%n jobs</source>
        <translation>
            <numerusform>%n 个后台任务</numerusform>
        </translation>
    </message>
    <message>
        <source>Jobs</source>
        <translation>后台任务</translation>
    </message>
    <message>
        <source>ended</source>
        <translation>已结束</translation>
    </message>
    <message>
        <source>exit code {0}</source>
        <translation>退出码 {0}</translation>
    </message>
    <message>
        <source>ran {0}</source>
        <translation>运行了 {0}</translation>
    </message>
    <message>
        <source>running</source>
        <translation>运行中</translation>
    </message>
    <message>
        <source>stopped</source>
        <translation>已停止</translation>
    </message>
    <message>
        <source>stopped at its time limit</source>
        <translation>因超时而停止</translation>
    </message>
    <message>
        <source>{0} d {1} h</source>
        <translation>{0} 天 {1} 小时</translation>
    </message>
    <message>
        <source>{0} h {1} min</source>
        <translation>{0} 小时 {1} 分</translation>
    </message>
    <message>
        <source>{0} min</source>
        <translation>{0} 分</translation>
    </message>
    <message>
        <source>{0} s</source>
        <translation>{0} 秒</translation>
    </message>
</context>
<context>
    <name>JobsPanel</name>
    <message>
        <source>Background work</source>
        <translation>后台工作</translation>
    </message>
    <message>
        <source>Hide background work</source>
        <translation>隐藏后台工作</translation>
    </message>
    <message>
        <source>Hide. Background work continues.</source>
        <translation>隐藏。正在运行的会继续。</translation>
    </message>
    <message>
        <source>Nothing runs in the background. Commands that keep running, such as a server, and sub-agents in the background appear here once started.</source>
        <translation>后台没有正在运行的内容。持续运行的命令（如服务器）和后台的子代理启动后会显示在这里。</translation>
    </message>
    <message>
        <source>{0} running</source>
        <translation>{0} 个运行中</translation>
    </message>
</context>
<context>
    <name>KeyEditor</name>
    <message>
        <source>API key</source>
        <translation>API 密钥</translation>
    </message>
    <message>
        <source>Check key</source>
        <translation>检查密钥</translation>
    </message>
    <message>
        <source>Check the server</source>
        <translation>检查服务器</translation>
    </message>
    <message>
        <source>In use: a key for this run only. It is not saved.</source>
        <translation>正在使用：仅用于本次运行的密钥。不会保存。</translation>
    </message>
    <message>
        <source>In use: the key from the environment variable {0}. It takes precedence over a saved one.</source>
        <translation>正在使用：环境变量 {0} 中的密钥。它优先于已保存的密钥。</translation>
    </message>
    <message>
        <source>In use: the key kept in the system keyring ({0}).</source>
        <translation>正在使用：保存在系统密钥环中的密钥（{0}）。</translation>
    </message>
    <message>
        <source>No key is needed. If you save one, it is sent with each request, and kept in the system keyring.</source>
        <translation>不需要密钥。如果您保存了密钥，会发送它并保存在系统密钥环中。</translation>
    </message>
    <message>
        <source>Create a key at {0}</source>
        <translation>可在 {0} 创建密钥</translation>
    </message>
    <message>
        <source>A key that you enter here is used until you quit.</source>
        <translation>在此输入的密钥在退出程序前有效。</translation>
    </message>
    <message>
        <source>Remove key</source>
        <translation>移除密钥</translation>
    </message>
    <message>
        <source>Remove permanently</source>
        <translation>永久移除</translation>
    </message>
    <message>
        <source>Save key</source>
        <translation>保存密钥</translation>
    </message>
    <message>
        <source>There is no key yet. It will be kept in the system keyring, never in a file.</source>
        <translation>尚无密钥。密钥将保存在系统密钥环中，绝不写入文件。</translation>
    </message>
    <message>
        <source>Use until I quit</source>
        <translation>使用到退出为止</translation>
    </message>
    <message>
        <source>You pasted what looks like an API key. It was put here, and nowhere else.</source>
        <translation>您粘贴的内容像是 API 密钥。它只放在了这里。</translation>
    </message>
</context>
<context>
    <name>KeyList</name>
    <message>
        <source>Everywhere</source>
        <translation>任何位置</translation>
    </message>
    <message>
        <source>Keys</source>
        <translation>按键</translation>
    </message>
    <message>
        <source>changed</source>
        <translation>已更改</translation>
    </message>
</context>
<context>
    <name>KeySearch</name>
    <message>
        <source>Or press keys here</source>
        <translation>或在此按键</translation>
    </message>
    <message>
        <source>Search by action</source>
        <translation>按操作搜索</translation>
    </message>
    <message>
        <source>Search by pressing keys</source>
        <translation>通过按键搜索</translation>
    </message>
    <message>
        <source>Search keys by action</source>
        <translation>按操作搜索快捷键</translation>
    </message>
</context>
<context>
    <name>KeyStep</name>
    <message>
        <source>API key</source>
        <translation>API 密钥</translation>
    </message>
    <message>
        <source>Enter an API key</source>
        <translation>输入 API 密钥</translation>
    </message>
    <message>
        <source>Create a key at {0}</source>
        <translation>可在 {0} 创建密钥</translation>
    </message>
    <message>
        <source>Leave it empty to use the key in {0}.</source>
        <translation>留空则使用 {0} 中的密钥。</translation>
    </message>
    <message>
        <source>Provider</source>
        <translation>提供商</translation>
    </message>
    <message>
        <source>Test and continue</source>
        <translation>测试并继续</translation>
    </message>
    <message>
        <source>The key is tested with the provider, at no cost, and then kept in your system keyring.</source>
        <translation>将在提供商处免费验证，然后保存到系统密钥环。</translation>
    </message>
    <message>
        <source>The key is tested with the provider, at no cost. This system has no keyring to keep it in, so it is used until you quit.</source>
        <translation>会向提供商免费验证密钥。此系统没有可保存密钥的密钥环：密钥在退出程序前有效。</translation>
    </message>
</context>
<context>
    <name>KeysPage</name>
    <message>
        <source>Add…</source>
        <translation>添加…</translation>
    </message>
    <message>
        <source>Change…</source>
        <translation>更改…</translation>
    </message>
    <message>
        <source>Clear</source>
        <translation>清除</translation>
    </message>
    <message>
        <source>No key matches.</source>
        <translation>没有匹配的按键。</translation>
    </message>
    <message>
        <source>Reset</source>
        <translation>重置</translation>
    </message>
    <message>
        <source>Reset all</source>
        <translation>全部重置</translation>
    </message>
</context>
<context>
    <name>LanguageServers</name>
    <message>
        <source>Is starting, and then checks {0}</source>
        <translation>正在启动，然后检查 {0}</translation>
    </message>
    <message>
        <source>Runs, and checks {0}</source>
        <translation>正在运行，检查 {0}</translation>
    </message>
    <message>
        <source>Starts when a file of these types changes: {0}</source>
        <translation>当这些类型的文件更改时启动：{0}</translation>
    </message>
    <message>
        <source>there is no program “{0}”</source>
        <translation>没有程序“{0}”</translation>
    </message>
    <message>
        <source>{0} does the same</source>
        <translation>{0} 的功能相同</translation>
    </message>
</context>
<context>
    <name>Legend</name>
    <message>
        <source>Price not known</source>
        <translation>价格未知</translation>
    </message>
</context>
<context>
    <name>LineBar</name>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>Close (Esc)</source>
        <translation>关闭 (Esc)</translation>
    </message>
    <message>
        <source>Go to line</source>
        <translation>转到行</translation>
    </message>
    <message>
        <source>Line to go to</source>
        <translation>要转到的行</translation>
    </message>
    <message>
        <source>of {0}</source>
        <translation>共 {0}</translation>
    </message>
</context>
<context>
    <name>LineWidget</name>
    <message>
        <source>Open it</source>
        <translation>打开</translation>
    </message>
    <message>
        <source>Open the conversation this is a copy of</source>
        <translation>打开此副本的原对话</translation>
    </message>
</context>
<context>
    <name>ListDecisions</name>
    <message>
        <source>Undo everything that is listed</source>
        <translation>撤销列出的全部内容</translation>
    </message>
</context>
<context>
    <name>LiveTerminal</name>
    <message numerus="yes">
        <source>The running program acts on each of the %n pasted lines at once.</source>
        <translation>
            <numerusform>此处的程序会立即逐行执行粘贴的 %n 行。</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>LocalStep</name>
    <message>
        <source>Look again</source>
        <translation>重新查找</translation>
    </message>
    <message>
        <source>Looking…</source>
        <translation>正在查找…</translation>
    </message>
    <message>
        <source>Servers are looked for on this machine only. They need no key.</source>
        <translation>只在本机上查找服务器。无需密钥。</translation>
    </message>
    <message>
        <source>Use a model on this machine</source>
        <translation>使用本机上的模型</translation>
    </message>
    <message>
        <source>Use this server</source>
        <translation>使用此服务器</translation>
    </message>
    <message>
        <source>{0} and {1} more</source>
        <translation>{0} 和另外 {1} 个</translation>
    </message>
</context>
<context>
    <name>LogView</name>
    <message>
        <source>Recent output of {0}</source>
        <translation>{0} 最近的输出</translation>
    </message>
</context>
<context>
    <name>MainMenu</name>
    <message>
        <source>Changes</source>
        <translation>更改</translation>
    </message>
    <message>
        <source>Conversation</source>
        <translation>对话</translation>
    </message>
    <message>
        <source>Go to</source>
        <translation>转到</translation>
    </message>
    <message>
        <source>Session</source>
        <translation>会话</translation>
    </message>
    <message>
        <source>Show</source>
        <translation>显示</translation>
    </message>
</context>
<context>
    <name>MainWindow</name>
    <message>
        <source>Desktop Agent</source>
        <translation>Desktop Agent</translation>
    </message>
    <message>
        <source>Review</source>
        <translation>审阅</translation>
    </message>
    <message>
        <source>Sessions and files</source>
        <translation>会话和文件</translation>
    </message>
</context>
<context>
    <name>Markdown</name>
    <message>
        <source>Picture: {0}</source>
        <translation>图片：{0}</translation>
    </message>
</context>
<context>
    <name>MatchesBody</name>
    <message>
        <source>Show fewer</source>
        <translation>显示更少</translation>
    </message>
</context>
<context>
    <name>Media</name>
    <message>
        <source>Not drawn: it refers to other files or runs a program</source>
        <translation>未绘制：它引用其他文件或运行程序</translation>
    </message>
    <message>
        <source>Not drawn: the drawing has too many parts</source>
        <translation>未绘制：图形的部分过多</translation>
    </message>
    <message>
        <source>The picture is damaged or cut off</source>
        <translation>图片已损坏或不完整</translation>
    </message>
    <message>
        <source>There is no file</source>
        <translation>没有文件</translation>
    </message>
    <message>
        <source>This is not a picture that can be shown here</source>
        <translation>此图片无法在此显示</translation>
    </message>
    <message>
        <source>Too large to show: more than {0} million pixels or 30 MB</source>
        <translation>过大，无法显示：超过 {0} 百万像素或 30 MB</translation>
    </message>
    <message>
        <source>first frame</source>
        <translation>第一帧</translation>
    </message>
    <message>
        <source>{0} bytes</source>
        <translation>{0} 字节</translation>
    </message>
</context>
<context>
    <name>MediaStack</name>
    <message>
        <source>Notebook</source>
        <translation>笔记本</translation>
    </message>
    <message>
        <source>Picture</source>
        <translation>图片</translation>
    </message>
    <message>
        <source>Raw JSON</source>
        <translation>原始 JSON</translation>
    </message>
    <message>
        <source>Text</source>
        <translation>文本</translation>
    </message>
</context>
<context>
    <name>MentionFinding</name>
    <message>
        <source>Mention files</source>
        <translation>提及文件</translation>
    </message>
</context>
<context>
    <name>MentionPopup</name>
    <message>
        <source>Mentions</source>
        <translation>提及</translation>
    </message>
</context>
<context>
    <name>MessageEdit</name>
    <message>
        <source>Message</source>
        <translation>消息</translation>
    </message>
</context>
<context>
    <name>MessageMenu</name>
    <message>
        <source>Copy</source>
        <translation>复制</translation>
    </message>
    <message>
        <source>Copy link address</source>
        <translation>复制链接地址</translation>
    </message>
    <message>
        <source>Copy message</source>
        <translation>复制消息</translation>
    </message>
    <message>
        <source>Copy path</source>
        <translation>复制路径</translation>
    </message>
    <message>
        <source>Edit and send again…</source>
        <translation>编辑并重新发送…</translation>
    </message>
    <message>
        <source>Go back to before this…</source>
        <translation>回到此处之前…</translation>
    </message>
    <message>
        <source>Quote in your message</source>
        <translation>在消息中引用</translation>
    </message>
    <message>
        <source>Quote message</source>
        <translation>引用消息</translation>
    </message>
    <message>
        <source>Select all</source>
        <translation>全选</translation>
    </message>
</context>
<context>
    <name>ModePickers</name>
    <message>
        <source>A scripted model; no key and no network</source>
        <translation>按脚本运行的模型；无需密钥和网络</translation>
    </message>
    <message>
        <source>Approvals</source>
        <translation>审批</translation>
    </message>
    <message>
        <source>Demo model</source>
        <translation>演示模型</translation>
    </message>
    <message>
        <source>Effort</source>
        <translation>推理强度</translation>
    </message>
    <message>
        <source>Effort: {0}</source>
        <translation>推理强度：{0}</translation>
    </message>
    <message>
        <source>How much the model thinks before it answers</source>
        <translation>模型在回答前思考多少</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>No sandbox here</source>
        <translation>此处无沙盒</translation>
    </message>
    <message>
        <source>Sandbox</source>
        <translation>沙盒</translation>
    </message>
    <message>
        <source>Sandbox not available</source>
        <translation>沙盒不可用</translation>
    </message>
    <message>
        <source>The model decides</source>
        <translation>由模型决定</translation>
    </message>
    <message>
        <source>default</source>
        <translation>默认</translation>
    </message>
    <message>
        <source>{0} by {1}</source>
        <translation>{1} 的 {0}</translation>
    </message>
    <message>
        <source>{0}, an agent of another program</source>
        <translation>{0}，其他程序的代理</translation>
    </message>
    <message>
        <source>{0}, {1} effort</source>
        <translation>{0}，推理强度 {1}</translation>
    </message>
</context>
<context>
    <name>ModelList</name>
    <message>
        <source>Models</source>
        <translation>模型</translation>
    </message>
</context>
<context>
    <name>ModelPage</name>
    <message>
        <source>Account</source>
        <translation>账户</translation>
    </message>
    <message>
        <source>Add a key to choose its models in any conversation. New conversations begin with {0}.</source>
        <translation>添加密钥后，即可在任何对话中选择其模型。新对话使用 {0}。</translation>
    </message>
    <message>
        <source>Address</source>
        <translation>地址</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>Model name used by the server</source>
        <translation>服务器使用的模型名称</translation>
    </message>
    <message>
        <source>Provider</source>
        <translation>提供商</translation>
    </message>
    <message>
        <source>Set by the environment: {0}.</source>
        <translation>由环境变量设置：{0}。</translation>
    </message>
    <message>
        <source>The demo follows a script. It needs no key, no network and no address.</source>
        <translation>演示按脚本进行。不需要密钥、网络或地址。</translation>
    </message>
    <message>
        <source>{0} takes the turns of new conversations. Another agent is chosen below the message field.</source>
        <translation>新对话的回合由 {0} 执行。可在消息框下方选择其他代理。</translation>
    </message>
</context>
<context>
    <name>ModelPopup</name>
    <message>
        <source>Choose a model</source>
        <translation>选择模型</translation>
    </message>
    <message>
        <source>Search models</source>
        <translation>搜索模型</translation>
    </message>
    <message>
        <source>Search models, or type the name of another one</source>
        <translation>搜索模型，或输入其他模型的名称</translation>
    </message>
    <message>
        <source>the agent decides</source>
        <translation>由代理决定</translation>
    </message>
    <message>
        <source>the model decides</source>
        <translation>由模型自行决定</translation>
    </message>
    <message>
        <source>{0} marks a favourite</source>
        <translation>{0} 标记收藏</translation>
    </message>
</context>
<context>
    <name>ModelRows</name>
    <message>
        <source>Favourite</source>
        <translation>已收藏</translation>
    </message>
    <message>
        <source>In use</source>
        <translation>使用中</translation>
    </message>
</context>
<context>
    <name>Models</name>
    <message>
        <source>Asking {0}…</source>
        <translation>正在询问 {0}…</translation>
    </message>
    <message>
        <source>Connect {0}…</source>
        <translation>连接 {0}…</translation>
    </message>
    <message>
        <source>Costs nothing</source>
        <translation>免费</translation>
    </message>
    <message>
        <source>Demo model</source>
        <translation>演示模型</translation>
    </message>
    <message>
        <source>Favourites</source>
        <translation>收藏</translation>
    </message>
    <message>
        <source>Context size not known</source>
        <translation>一次可读取的长度未知</translation>
    </message>
    <message>
        <source>Price not known</source>
        <translation>价格未知</translation>
    </message>
    <message>
        <source>No model has this name</source>
        <translation>没有此名称的模型</translation>
    </message>
    <message>
        <source>Not connected</source>
        <translation>未连接</translation>
    </message>
    <message>
        <source>Context of {0} tokens</source>
        <translation>一次可读取 {0} 个 token</translation>
    </message>
    <message>
        <source>Agents</source>
        <translation>代理</translation>
    </message>
    <message>
        <source>An agent of another program</source>
        <translation>其他程序的代理</translation>
    </message>
    <message>
        <source>Recent</source>
        <translation>最近</translation>
    </message>
    <message>
        <source>Sees images</source>
        <translation>能看图片</translation>
    </message>
    <message>
        <source>Sees no images</source>
        <translation>不能看图片</translation>
    </message>
    <message>
        <source>Thinks before it answers</source>
        <translation>回答前会思考</translation>
    </message>
    <message>
        <source>Use “{0}” of {1}</source>
        <translation>使用 {1} 的“{0}”</translation>
    </message>
    <message>
        <source>Without a key</source>
        <translation>无密钥</translation>
    </message>
    <message>
        <source>Included in your plan</source>
        <translation>费用包含在您的套餐中</translation>
    </message>
    <message>
        <source>an agent of another program</source>
        <translation>其他程序的代理</translation>
    </message>
    <message>
        <source>free</source>
        <translation>免费</translation>
    </message>
    <message>
        <source>in the sandbox</source>
        <translation>在沙盒中</translation>
    </message>
    <message>
        <source>in your plan</source>
        <translation>包含在您的套餐中</translation>
    </message>
    <message>
        <source>outside the sandbox</source>
        <translation>在沙盒外</translation>
    </message>
    <message>
        <source>price unknown</source>
        <translation>价格未知</translation>
    </message>
    <message>
        <source>{0} is not offered: there is no program {1}.</source>
        <translation>未提供 {0}：没有程序 {1}。</translation>
    </message>
    <message>
        <source>{0} per million input tokens, {1} per million output tokens</source>
        <translation>每百万 token：读取 {0}，写入 {1}</translation>
    </message>
    <message>
        <source>{0} more; type more letters to find them</source>
        <translation>还有 {0} 个；输入更多字符以查找</translation>
    </message>
    <message>
        <source>{0}: list could not be loaded</source>
        <translation>{0}：无法读取列表</translation>
    </message>
    <message>
        <source>{0}: list not loaded yet</source>
        <translation>{0}：从未获取列表</translation>
    </message>
    <message numerus="yes">
        <source>{0}: list from %n days ago</source>
        <translation>
            <numerusform>{0}：%n 天前的列表</numerusform>
        </translation>
    </message>
    <message>
        <source>{0}: list from yesterday</source>
        <translation>{0}：昨天的列表</translation>
    </message>
    <message>
        <source>{0}: list of today</source>
        <translation>{0}：今天的列表</translation>
    </message>
</context>
<context>
    <name>Modes</name>
    <message>
        <source>Asks always</source>
        <translation>总是询问</translation>
    </message>
    <message>
        <source>Asks before every call</source>
        <translation>每次调用前询问</translation>
    </message>
    <message>
        <source>Asks before writing</source>
        <translation>写入前询问</translation>
    </message>
    <message>
        <source>Asks to leave</source>
        <translation>离开时询问</translation>
    </message>
    <message>
        <source>Asks to leave the sandbox</source>
        <translation>离开沙盒前询问</translation>
    </message>
    <message>
        <source>Asks to write</source>
        <translation>写入时询问</translation>
    </message>
    <message>
        <source>Commands can do anything your account can.</source>
        <translation>命令可以做您的账户能做的一切。</translation>
    </message>
    <message>
        <source>Commands cannot write anything. No network.</source>
        <translation>命令不可写入任何内容。无网络。</translation>
    </message>
    <message>
        <source>Edits in this folder and sandboxed commands run freely. Anything else asks first.</source>
        <translation>此文件夹中的编辑和受限命令无需询问。代理需要更多权限时会询问。</translation>
    </message>
    <message>
        <source>Commands can write only this folder and a temporary one. No network.</source>
        <translation>命令可写入此文件夹和自己的临时文件夹。无网络。</translation>
    </message>
    <message>
        <source>Never asks</source>
        <translation>从不询问</translation>
    </message>
    <message>
        <source>No sandbox</source>
        <translation>无沙盒</translation>
    </message>
    <message>
        <source>Nothing is asked: anything that needs approval is refused.</source>
        <translation>不作任何询问：需要同意的操作会被拒绝。</translation>
    </message>
    <message>
        <source>Read-only</source>
        <translation>只读</translation>
    </message>
    <message>
        <source>Reads also ask.</source>
        <translation>读取也要等待您同意。</translation>
    </message>
    <message>
        <source>Reads run freely. Edits, commands that may change something, and network access ask first.</source>
        <translation>读取无需询问。编辑、可能更改内容的命令以及网络访问会询问。</translation>
    </message>
    <message>
        <source>Runs outside the sandbox, with all the rights of your account</source>
        <translation>在沙盒外运行：可以做您的账户能做的一切</translation>
    </message>
    <message>
        <source>Sandbox: read-only</source>
        <translation>沙盒：只读</translation>
    </message>
    <message>
        <source>Sandbox: this folder</source>
        <translation>沙盒：此文件夹</translation>
    </message>
    <message>
        <source>This folder</source>
        <translation>此文件夹</translation>
    </message>
</context>
<context>
    <name>NamedPictures</name>
    <message>
        <source>Open in the browser</source>
        <translation>在浏览器中打开</translation>
    </message>
    <message>
        <source>Open the file</source>
        <translation>打开文件</translation>
    </message>
</context>
<context>
    <name>Navigation</name>
    <message>
        <source>Jump to latest ↓</source>
        <translation>跳到最新 ↓</translation>
    </message>
</context>
<context>
    <name>News</name>
    <message>
        <source>Reinstall the application.</source>
        <translation>请重新安装应用程序。</translation>
    </message>
    <message>
        <source>Read more in {0}.</source>
        <translation>更多内容见 {0}。</translation>
    </message>
    <message>
        <source>The changelog is missing.</source>
        <translation>缺少更新日志。</translation>
    </message>
</context>
<context>
    <name>NewsBar</name>
    <message>
        <source>Desktop Agent was updated to {0}.</source>
        <translation>Desktop Agent 已更新到 {0}。</translation>
    </message>
    <message>
        <source>Desktop Agent {0} is available.</source>
        <translation>Desktop Agent {0} 已发布。</translation>
    </message>
    <message>
        <source>Dismiss</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>Open its page</source>
        <translation>打开其页面</translation>
    </message>
    <message>
        <source>What is new…</source>
        <translation>新增内容…</translation>
    </message>
</context>
<context>
    <name>NewsWindow</name>
    <message>
        <source>What is new</source>
        <translation>新增内容</translation>
    </message>
</context>
<context>
    <name>NoticeWidget</name>
    <message>
        <source>Ask the model now instead of waiting</source>
        <translation>不再等待，立即询问模型</translation>
    </message>
    <message>
        <source>Choose another account…</source>
        <translation>选择其他账户…</translation>
    </message>
    <message>
        <source>Details</source>
        <translation>详情</translation>
    </message>
    <message>
        <source>Hide details</source>
        <translation>隐藏详情</translation>
    </message>
    <message>
        <source>In the terminal below</source>
        <translation>在下方的终端中</translation>
    </message>
    <message>
        <source>Open another folder…</source>
        <translation>打开其他文件夹…</translation>
    </message>
    <message>
        <source>Open settings</source>
        <translation>打开设置</translation>
    </message>
    <message>
        <source>Sign in again…</source>
        <translation>重新登录…</translation>
    </message>
    <message>
        <source>Sign in, or give it a key in the settings. Then try again.</source>
        <translation>请登录，或在设置中为它提供密钥，然后重试。</translation>
    </message>
    <message>
        <source>Sign in: {0}</source>
        <translation>登录：{0}</translation>
    </message>
    <message>
        <source>Sign in…</source>
        <translation>登录…</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>重试</translation>
    </message>
    <message>
        <source>Try now</source>
        <translation>立即重试</translation>
    </message>
</context>
<context>
    <name>OnboardingDialog</name>
    <message>
        <source>Welcome</source>
        <translation>欢迎</translation>
    </message>
</context>
<context>
    <name>OnboardingFoot</name>
    <message>
        <source>Back</source>
        <translation>返回</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Choose folder…</source>
        <translation>选择文件夹…</translation>
    </message>
    <message>
        <source>Folder: {0}</source>
        <translation>文件夹：{0}</translation>
    </message>
    <message>
        <source>No folder chosen yet</source>
        <translation>尚未选择文件夹</translation>
    </message>
</context>
<context>
    <name>OneAtATime</name>
    <message>
        <source>Something went wrong inside the application.</source>
        <translation>应用程序内部出错。</translation>
    </message>
</context>
<context>
    <name>OpenQuestion</name>
    <message>
        <source>Checking your command…</source>
        <translation>正在检查您的命令…</translation>
    </message>
    <message>
        <source>Only a visible change can be allowed</source>
        <translation>只能允许可见的更改</translation>
    </message>
    <message>
        <source>The agent keeps to its own command, so it cannot be edited here.</source>
        <translation>代理只运行它自己的命令，因此不能在此编辑。</translation>
    </message>
    <message>
        <source>There is no command to run</source>
        <translation>没有可运行的命令</translation>
    </message>
</context>
<context>
    <name>OtherStep</name>
    <message>
        <source>Enter an address</source>
        <translation>输入地址</translation>
    </message>
    <message>
        <source>Enter an address…</source>
        <translation>输入地址…</translation>
    </message>
    <message>
        <source>The address of a gateway, a router or a server that speaks one of OpenAI&apos;s or Anthropic&apos;s formats.</source>
        <translation>使用 OpenAI 或 Anthropic 格式的网关、路由或服务器。</translation>
    </message>
    <message>
        <source>One account for the models of many vendors.</source>
        <translation>一个账户即可使用多家厂商的模型。</translation>
    </message>
    <message>
        <source>OpenRouter or another address</source>
        <translation>OpenRouter 或其他地址</translation>
    </message>
    <message>
        <source>Sign in with OpenRouter</source>
        <translation>用 OpenRouter 登录</translation>
    </message>
    <message>
        <source>Sign in…</source>
        <translation>登录…</translation>
    </message>
    <message>
        <source>Your browser opens OpenRouter&apos;s page. It makes a key, which is kept in your keyring.</source>
        <translation>浏览器将打开 OpenRouter 的页面。它会创建一个密钥并保存到您的密钥环。</translation>
    </message>
</context>
<context>
    <name>OutputWindow</name>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>Find</source>
        <translation>查找</translation>
    </message>
    <message>
        <source>Find in the output</source>
        <translation>在输出中查找</translation>
    </message>
    <message>
        <source>Only the end is shown: the output is very long.</source>
        <translation>只显示末尾：输出很长。</translation>
    </message>
    <message>
        <source>Output of {0}</source>
        <translation>{0} 的输出</translation>
    </message>
    <message>
        <source>↪ continues the line above; it is copied as one line.</source>
        <translation>↪ 接续上一行；复制时为同一行。</translation>
    </message>
</context>
<context>
    <name>PageSaving</name>
    <message>
        <source>A character does not fit the encoding of this file.</source>
        <translation>有字符不符合此文件的编码。</translation>
    </message>
</context>
<context>
    <name>PageWidget</name>
    <message>
        <source>Earlier messages</source>
        <translation>更早的消息</translation>
    </message>
</context>
<context>
    <name>PairFields</name>
    <message>
        <source>In the keyring</source>
        <translation>在密钥环中</translation>
    </message>
</context>
<context>
    <name>Palette</name>
    <message>
        <source>Actions</source>
        <translation>操作</translation>
    </message>
    <message>
        <source>Allow</source>
        <translation>允许</translation>
    </message>
    <message>
        <source>Allow once</source>
        <translation>允许一次</translation>
    </message>
    <message>
        <source>Break the line</source>
        <translation>换行</translation>
    </message>
    <message>
        <source>Recall the previous message</source>
        <translation>调出已发送的消息</translation>
    </message>
    <message>
        <source>Close the tab</source>
        <translation>关闭标签页</translation>
    </message>
    <message>
        <source>Commands</source>
        <translation>命令</translation>
    </message>
    <message>
        <source>Comment on the lines</source>
        <translation>评论这些行</translation>
    </message>
    <message>
        <source>Copy the path</source>
        <translation>复制路径</translation>
    </message>
    <message>
        <source>Copy the selected lines</source>
        <translation>复制所选行</translation>
    </message>
    <message>
        <source>Copy what is selected</source>
        <translation>复制所选内容</translation>
    </message>
    <message>
        <source>Delete the file</source>
        <translation>删除文件</translation>
    </message>
    <message>
        <source>Deny</source>
        <translation>拒绝</translation>
    </message>
    <message>
        <source>Edit the command</source>
        <translation>编辑命令</translation>
    </message>
    <message>
        <source>Edit the file here</source>
        <translation>在此编辑文件</translation>
    </message>
    <message>
        <source>Files</source>
        <translation>文件</translation>
    </message>
    <message>
        <source>Find in the changes of this file</source>
        <translation>在此文件的更改中查找</translation>
    </message>
    <message>
        <source>Find in the file</source>
        <translation>在文件中查找</translation>
    </message>
    <message>
        <source>Find in the terminal</source>
        <translation>在终端中查找</translation>
    </message>
    <message>
        <source>Fit the window</source>
        <translation>适应窗口</translation>
    </message>
    <message>
        <source>Go to the beginning</source>
        <translation>转到开头</translation>
    </message>
    <message>
        <source>Go to the end</source>
        <translation>转到末尾</translation>
    </message>
    <message>
        <source>Recall the next message</source>
        <translation>转到之后发送的内容</translation>
    </message>
    <message>
        <source>Go to a line</source>
        <translation>转到行</translation>
    </message>
    <message>
        <source>In a diff</source>
        <translation>在差异视图中</translation>
    </message>
    <message>
        <source>In a picture</source>
        <translation>在图片中</translation>
    </message>
    <message>
        <source>In the approval dialog</source>
        <translation>在审批对话框中</translation>
    </message>
    <message>
        <source>In the conversation</source>
        <translation>在对话中</translation>
    </message>
    <message>
        <source>In the file tree</source>
        <translation>在文件树中</translation>
    </message>
    <message>
        <source>In the file viewer</source>
        <translation>在文件查看器中</translation>
    </message>
    <message>
        <source>In the list of sessions</source>
        <translation>在会话列表中</translation>
    </message>
    <message>
        <source>In the message</source>
        <translation>在消息中</translation>
    </message>
    <message>
        <source>In the terminal</source>
        <translation>在终端中</translation>
    </message>
    <message>
        <source>In the usage window</source>
        <translation>在用量窗口中</translation>
    </message>
    <message>
        <source>Keep the change, or leave it undecided</source>
        <translation>保留更改，或留待决定</translation>
    </message>
    <message>
        <source>Keys</source>
        <translation>按键</translation>
    </message>
    <message>
        <source>Next change</source>
        <translation>下一处更改</translation>
    </message>
    <message>
        <source>Next tab</source>
        <translation>下一个标签页</translation>
    </message>
    <message>
        <source>Nothing matches. Try fewer letters.</source>
        <translation>没有匹配项。请减少字符再试。</translation>
    </message>
    <message>
        <source>Open a folded part</source>
        <translation>展开折叠部分</translation>
    </message>
    <message>
        <source>Open a folder to go to one of its files.</source>
        <translation>打开一个文件夹以转到其中的文件。</translation>
    </message>
    <message>
        <source>Open and close a folder</source>
        <translation>展开和折叠文件夹</translation>
    </message>
    <message>
        <source>Open the file</source>
        <translation>打开文件</translation>
    </message>
    <message>
        <source>Open the session</source>
        <translation>打开会话</translation>
    </message>
    <message>
        <source>Reopen the last closed tab</source>
        <translation>重新打开上次关闭的标签页</translation>
    </message>
    <message>
        <source>Show the picture at its actual size</source>
        <translation>按原始大小显示图片</translation>
    </message>
    <message>
        <source>Wrap long lines</source>
        <translation>长行自动换行</translation>
    </message>
    <message>
        <source>Paste</source>
        <translation>粘贴</translation>
    </message>
    <message>
        <source>By day, model, tool or folder</source>
        <translation>按日期、模型、工具或文件夹</translation>
    </message>
    <message>
        <source>Previous change</source>
        <translation>上一处更改</translation>
    </message>
    <message>
        <source>Previous tab</source>
        <translation>上一个标签页</translation>
    </message>
    <message>
        <source>Recently used</source>
        <translation>最近使用</translation>
    </message>
    <message>
        <source>Redo the change</source>
        <translation>重做更改</translation>
    </message>
    <message>
        <source>Rename the file</source>
        <translation>重命名文件</translation>
    </message>
    <message>
        <source>Rename the session</source>
        <translation>重命名会话</translation>
    </message>
    <message>
        <source>Save the file</source>
        <translation>保存文件</translation>
    </message>
    <message>
        <source>Scroll down</source>
        <translation>向下滚动</translation>
    </message>
    <message>
        <source>Scroll up</source>
        <translation>向上滚动</translation>
    </message>
    <message>
        <source>Select all</source>
        <translation>全选</translation>
    </message>
    <message>
        <source>Send</source>
        <translation>发送</translation>
    </message>
    <message>
        <source>Send into the running turn</source>
        <translation>发送到正在运行的轮次</translation>
    </message>
    <message>
        <source>Sessions</source>
        <translation>会话</translation>
    </message>
    <message>
        <source>Settings</source>
        <translation>设置</translation>
    </message>
    <message>
        <source>The files of the folder are being listed…</source>
        <translation>正在列出文件夹中的文件…</translation>
    </message>
    <message>
        <source>Undo the change</source>
        <translation>撤销更改</translation>
    </message>
    <message>
        <source>While an approval card waits</source>
        <translation>有审批卡等待时</translation>
    </message>
</context>
<context>
    <name>PaletteOpening</name>
    <message>
        <source>Everywhere</source>
        <translation>任何位置</translation>
    </message>
</context>
<context>
    <name>PathActions</name>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>Copy path</source>
        <translation>复制路径</translation>
    </message>
    <message>
        <source>Copy relative path</source>
        <translation>复制相对路径</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>删除</translation>
    </message>
    <message>
        <source>History in this conversation</source>
        <translation>在此对话中的历史</translation>
    </message>
    <message>
        <source>Mention in the message</source>
        <translation>在消息中提及</translation>
    </message>
    <message>
        <source>Open</source>
        <translation>打开</translation>
    </message>
    <message>
        <source>Open with its application</source>
        <translation>用默认应用程序打开</translation>
    </message>
    <message>
        <source>Rename…</source>
        <translation>重命名…</translation>
    </message>
    <message>
        <source>Show changes</source>
        <translation>显示更改</translation>
    </message>
</context>
<context>
    <name>PickerFoot</name>
    <message>
        <source>Refresh list</source>
        <translation>刷新列表</translation>
    </message>
    <message>
        <source>Refreshing… {0} of {1}</source>
        <translation>正在刷新… {0}/{1}</translation>
    </message>
</context>
<context>
    <name>PictureButton</name>
    <message>
        <source>Loading…</source>
        <translation>正在加载…</translation>
    </message>
    <message>
        <source>Picture {title}: {caption}</source>
        <translation>图片 {title}：{caption}</translation>
    </message>
</context>
<context>
    <name>PictureCanvas</name>
    <message>
        <source>{0} % of the old version</source>
        <translation>旧版本 {0}%</translation>
    </message>
</context>
<context>
    <name>PicturePage</name>
    <message>
        <source>Picture, {0}</source>
        <translation>图片，{0}</translation>
    </message>
</context>
<context>
    <name>PictureWindow</name>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>Larger</source>
        <translation>放大</translation>
    </message>
    <message>
        <source>Picture {title}</source>
        <translation>图片 {title}</translation>
    </message>
    <message>
        <source>Smaller</source>
        <translation>缩小</translation>
    </message>
</context>
<context>
    <name>PinList</name>
    <message>
        <source>For a day</source>
        <translation>一天</translation>
    </message>
    <message>
        <source>For a week</source>
        <translation>一周</translation>
    </message>
    <message>
        <source>For an hour</source>
        <translation>一小时</translation>
    </message>
    <message>
        <source>How long</source>
        <translation>时长</translation>
    </message>
    <message>
        <source>Pin</source>
        <translation>固定</translation>
    </message>
    <message>
        <source>Pin text for the agent…</source>
        <translation>为代理固定文本…</translation>
    </message>
    <message>
        <source>Text to pin</source>
        <translation>要固定的文本</translation>
    </message>
    <message>
        <source>Unpin</source>
        <translation>取消固定</translation>
    </message>
    <message>
        <source>Unpin “{0}”</source>
        <translation>取消固定“{0}”</translation>
    </message>
    <message>
        <source>Until removed</source>
        <translation>直到移除</translation>
    </message>
    <message>
        <source>until {0}</source>
        <translation>直到 {0}</translation>
    </message>
</context>
<context>
    <name>PlanBar</name>
    <message>
        <source>Carry out</source>
        <translation>执行</translation>
    </message>
    <message>
        <source>Carry out in a worktree</source>
        <translation>在工作树中执行</translation>
    </message>
    <message>
        <source>Making the worktree in which the plan is carried out…</source>
        <translation>正在创建用于执行该计划的工作树…</translation>
    </message>
    <message>
        <source>Plan: {0}</source>
        <translation>计划：{0}</translation>
    </message>
    <message>
        <source>Read and edit…</source>
        <translation>阅读并编辑…</translation>
    </message>
    <message>
        <source>The files in this folder stay as they are until you bring the changes back</source>
        <translation>在您取回更改之前，此文件夹中的文件保持不变</translation>
    </message>
</context>
<context>
    <name>PlanPage</name>
    <message>
        <source>Plan</source>
        <translation>计划</translation>
    </message>
</context>
<context>
    <name>PlanWindow</name>
    <message>
        <source>Approvals</source>
        <translation>审批</translation>
    </message>
    <message>
        <source>Carry out</source>
        <translation>执行</translation>
    </message>
    <message>
        <source>Carry out in a worktree</source>
        <translation>在工作树中执行</translation>
    </message>
    <message>
        <source>Changes</source>
        <translation>更改</translation>
    </message>
    <message>
        <source>Click beside a line to comment on it. Your changes are kept.</source>
        <translation>点击某一行旁边即可添加评论。您的更改会保留。</translation>
    </message>
    <message>
        <source>Comment</source>
        <translation>评论</translation>
    </message>
    <message>
        <source>Edit</source>
        <translation>编辑</translation>
    </message>
    <message>
        <source>End planning, and let the agent carry out the plan (Ctrl+Enter)</source>
        <translation>结束计划，让代理执行该计划 (Ctrl+Enter)</translation>
    </message>
    <message>
        <source>Plan</source>
        <translation>计划</translation>
    </message>
    <message>
        <source>Read</source>
        <translation>阅读</translation>
    </message>
    <message numerus="yes">
        <source>Send %n comments</source>
        <translation>
            <numerusform>发送 %n 条评论</numerusform>
        </translation>
    </message>
    <message>
        <source>The agent is working. {0}</source>
        <translation>代理正在工作。{0}</translation>
    </message>
    <message>
        <source>The files in this folder stay as they are until you bring the changes back (Ctrl+Shift+Enter)</source>
        <translation>在您取回更改之前，此文件夹中的文件保持不变 (Ctrl+Shift+Enter)</translation>
    </message>
    <message>
        <source>Views of the plan</source>
        <translation>计划的视图</translation>
    </message>
    <message>
        <source>Write about the marked lines</source>
        <translation>评论已标记的行</translation>
    </message>
</context>
<context>
    <name>PluginCard</name>
    <message>
        <source>It cannot be used: {0}.</source>
        <translation>无法使用：{0}。</translation>
    </message>
    <message>
        <source>It has changed since you allowed it, so it starts nothing until you allow it again.</source>
        <translation>自您允许以来它已更改，在您再次允许之前，它不会启动任何程序。</translation>
    </message>
    <message>
        <source>It waits until you trust the project.</source>
        <translation>它会等到您信任该项目。</translation>
    </message>
    <message>
        <source>Allow it as it is now</source>
        <translation>按现在的样子允许</translation>
    </message>
    <message>
        <source>Allow the plugin {0} as it is now</source>
        <translation>按现在的样子允许插件 {0}</translation>
    </message>
    <message>
        <source>Remove the plugin {0}</source>
        <translation>移除插件 {0}</translation>
    </message>
    <message>
        <source>Remove {0} and everything that its programs stored?</source>
        <translation>要移除 {0} 及其程序保存的内容吗？</translation>
    </message>
    <message>
        <source>Update the plugin {0}</source>
        <translation>更新插件 {0}</translation>
    </message>
    <message>
        <source>Update…</source>
        <translation>更新…</translation>
    </message>
    <message>
        <source>Use the plugin {0}</source>
        <translation>使用插件 {0}</translation>
    </message>
</context>
<context>
    <name>PluginForm</name>
    <message>
        <source>Add</source>
        <translation>添加</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Choose the folder of the plugin</source>
        <translation>选择插件的文件夹</translation>
    </message>
    <message>
        <source>Choose…</source>
        <translation>选择…</translation>
    </message>
    <message>
        <source>Fetching it. None of it runs…</source>
        <translation>正在获取。不会运行其中任何内容…</translation>
    </message>
    <message>
        <source>Subfolder</source>
        <translation>子文件夹</translation>
    </message>
    <message>
        <source>Subfolder of the plugin</source>
        <translation>插件的子文件夹</translation>
    </message>
    <message>
        <source>Update</source>
        <translation>更新</translation>
    </message>
    <message>
        <source>Update {0}</source>
        <translation>更新 {0}</translation>
    </message>
    <message>
        <source>{0} is up to date.</source>
        <translation>{0} 已是最新。</translation>
    </message>
    <message>
        <source>Folder or address of the plugin</source>
        <translation>插件的文件夹或地址</translation>
    </message>
    <message>
        <source>From</source>
        <translation>来源</translation>
    </message>
    <message>
        <source>Name a folder, or the address of a git repository.</source>
        <translation>请指定一个文件夹或 git 仓库的地址。</translation>
    </message>
    <message>
        <source>New plugin</source>
        <translation>新插件</translation>
    </message>
    <message>
        <source>Only if the plugin is not at the top</source>
        <translation>仅当插件不在顶层时</translation>
    </message>
    <message>
        <source>Show what it brings</source>
        <translation>查看它带来的内容</translation>
    </message>
</context>
<context>
    <name>PluginWords</name>
    <message>
        <source>Commands: {0}</source>
        <translation>命令：{0}</translation>
    </message>
    <message>
        <source>It runs these as you do, outside the sandbox:</source>
        <translation>它会像您一样在沙盒之外运行以下内容：</translation>
    </message>
    <message>
        <source>It runs these in the sandbox:</source>
        <translation>它会在沙盒中运行以下内容：</translation>
    </message>
    <message>
        <source>Left out, because they lead out of the plugin or are not files: {0}</source>
        <translation>已略去，因为它们指向插件之外或不是文件：{0}</translation>
    </message>
    <message>
        <source>Not used: {0}</source>
        <translation>未使用：{0}</translation>
    </message>
    <message>
        <source>Skills: {0}</source>
        <translation>技能：{0}</translation>
    </message>
    <message>
        <source>Sub-agents: {0}</source>
        <translation>子代理：{0}</translation>
    </message>
</context>
<context>
    <name>PluginsPage</name>
    <message>
        <source>Add plugin…</source>
        <translation>添加插件…</translation>
    </message>
    <message>
        <source>Folders that bundle skills, commands, sub-agents, hooks and MCP servers, made for Claude Code or in the open format. You see what a plugin brings and starts before you add it.</source>
        <translation>汇集技能、命令、子代理、钩子和 MCP 服务器的文件夹，为 Claude Code 制作或采用开放格式。添加之前，您会看到插件带来什么、启动什么。</translation>
    </message>
    <message>
        <source>There are no plugins yet.</source>
        <translation>还没有插件。</translation>
    </message>
</context>
<context>
    <name>PrintedBody</name>
    <message>
        <source>Show all output</source>
        <translation>显示全部输出</translation>
    </message>
</context>
<context>
    <name>ProjectBanner</name>
    <message>
        <source>Details…</source>
        <translation>详情…</translation>
    </message>
    <message>
        <source>Ignore</source>
        <translation>忽略</translation>
    </message>
    <message>
        <source>The model would see this file from outside the folder: {0}</source>
        <translation>模型会收到文件夹之外的这个文件：{0}</translation>
    </message>
    <message>
        <source>The model would be offered these skills and sub-agents: {0}</source>
        <translation>这些技能和子代理会提供给模型：{0}</translation>
    </message>
    <message>
        <source>These settings would offer the agent {0}</source>
        <translation>它会提供代理 {0}</translation>
    </message>
    <message>
        <source>These settings would start the MCP server {0}</source>
        <translation>它会启动 MCP 服务器 {0}</translation>
    </message>
    <message>
        <source>This language server would run in the sandbox: {0}</source>
        <translation>此语言服务器将在沙盒中运行：{0}</translation>
    </message>
    <message>
        <source>This project brings settings or extensions. They apply only if you trust them.</source>
        <translation>此项目带有设置或扩展。只有您信任它们，它们才会生效。</translation>
    </message>
    <message>
        <source>This would run outside the sandbox: {0}</source>
        <translation>这会在沙盒之外运行：{0}</translation>
    </message>
    <message>
        <source>Trust</source>
        <translation>信任</translation>
    </message>
</context>
<context>
    <name>ProjectPage</name>
    <message>
        <source>Ignore</source>
        <translation>忽略</translation>
    </message>
    <message>
        <source>And {0} more.</source>
        <translation>还有 {0} 个。</translation>
    </message>
    <message>
        <source>Ignore what the project brings</source>
        <translation>忽略项目带来的内容</translation>
    </message>
    <message>
        <source>Nothing, because these settings already apply or are refused.</source>
        <translation>无：所有内容已经生效或被拒绝。</translation>
    </message>
    <message>
        <source>The model would see these files from outside the folder:</source>
        <translation>模型会收到文件夹之外的这些文件：</translation>
    </message>
    <message>
        <source>The model would see these names, and could ask for their text:</source>
        <translation>模型会看到这些名称，并可以请求其文本：</translation>
    </message>
    <message>
        <source>These MCP servers could start. Servers not marked as confined can do everything you can:</source>
        <translation>它会允许启动以下 MCP 服务器。未注明受限的服务器可以做您能做的一切：</translation>
    </message>
    <message>
        <source>These MCP servers may start. Servers not marked as confined can do everything you can:</source>
        <translation>它允许启动以下 MCP 服务器。未注明受限的服务器可以做您能做的一切：</translation>
    </message>
    <message>
        <source>These hooks and plugins would run as you do, outside the sandbox:</source>
        <translation>这些钩子和插件会以您的身份在沙盒之外运行：</translation>
    </message>
    <message>
        <source>These language servers would run in the sandbox, where they read the folder:</source>
        <translation>这些语言服务器将在沙盒中运行，并可读取此文件夹：</translation>
    </message>
    <message>
        <source>Trust the project</source>
        <translation>信任该项目</translation>
    </message>
    <message>
        <source>You could choose these agents. Those not marked as confined can do everything you can:</source>
        <translation>您可以选择这些代理。未标明受限的代理可以做您能做的一切：</translation>
    </message>
    <message>
        <source>Trust</source>
        <translation>信任</translation>
    </message>
    <message>
        <source>A project&apos;s settings can only make the rules stricter, and define MCP servers and agents. They apply once you trust the project, and wait again when they, or files that its servers run, change; so do its hooks, language servers and plugins. Its skills and sub-agents are text for the model: once trusted, they still apply when they change.</source>
        <translation>项目的设置只能使规则更严格，以及定义 MCP 服务器和代理。它们在您信任该项目后生效；当它们或其服务器运行的文件更改时，会再次等待您的回答；其钩子、语言服务器和插件也是如此。其技能和子代理是给模型的文本：一旦受到信任，更改后仍然有效。</translation>
    </message>
    <message>
        <source>This project is waiting for your answer. It would bring:</source>
        <translation>此项目正在等待您的回答。它会带来：</translation>
    </message>
    <message>
        <source>You ignore what this project would bring:</source>
        <translation>您忽略了此项目会带来的内容：</translation>
    </message>
    <message>
        <source>You trust this project. It brings:</source>
        <translation>您信任此项目。它带来：</translation>
    </message>
    <message>
        <source>{0} (changed since you answered)</source>
        <translation>{0}（自您回答以来已更改）</translation>
    </message>
    <message>
        <source>{0} (switched off)</source>
        <translation>{0}（已关闭）</translation>
    </message>
</context>
<context>
    <name>PromptAttachments</name>
    <message>
        <source>Attached: {name}, {kind}, {size}</source>
        <translation>随消息附带：{name}，{kind}，{size}</translation>
    </message>
    <message>
        <source>Show what was sent</source>
        <translation>显示已发送的内容</translation>
    </message>
    <message>
        <source>file</source>
        <translation>文件</translation>
    </message>
    <message>
        <source>folder</source>
        <translation>文件夹</translation>
    </message>
    <message>
        <source>picture</source>
        <translation>图片</translation>
    </message>
    <message>
        <source>resource</source>
        <translation>资源</translation>
    </message>
    <message>
        <source>session</source>
        <translation>会话</translation>
    </message>
</context>
<context>
    <name>PromptEditor</name>
    <message>
        <source>Also undo the changes made since</source>
        <translation>同时撤销此后的更改</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Continues in a copy of this conversation that ends before this message.</source>
        <translation>在此对话的副本中继续，副本截止于此消息之前。</translation>
    </message>
    <message>
        <source>Keep files as they are</source>
        <translation>文件保持不变</translation>
    </message>
    <message>
        <source>Send</source>
        <translation>发送</translation>
    </message>
    <message>
        <source>What happens with the files</source>
        <translation>如何处理文件</translation>
    </message>
    <message>
        <source>Your message, edited</source>
        <translation>您编辑后的消息</translation>
    </message>
</context>
<context>
    <name>PromptWidget</name>
    <message>
        <source>Edit</source>
        <translation>编辑</translation>
    </message>
    <message>
        <source>Edit this message and send it again</source>
        <translation>编辑此消息并重新发送</translation>
    </message>
    <message>
        <source>You, while the agent worked: {text}</source>
        <translation>您（代理工作期间）：{text}</translation>
    </message>
    <message>
        <source>You: {text}</source>
        <translation>您：{text}</translation>
    </message>
</context>
<context>
    <name>PushQuestion</name>
    <message>
        <source>Push</source>
        <translation>推送</translation>
    </message>
    <message>
        <source>Push {0} of the branch {1} to {2}?</source>
        <translation>将分支 {1} 的 {0}推送到 {2} 吗？</translation>
    </message>
    <message>
        <source>{0} does not have this branch yet.</source>
        <translation>{0} 还没有这个分支。</translation>
    </message>
</context>
<context>
    <name>Question</name>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
</context>
<context>
    <name>QuestionHead</name>
    <message>
        <source>Details</source>
        <translation>详情</translation>
    </message>
    <message>
        <source>How it would run</source>
        <translation>运行方式</translation>
    </message>
    <message>
        <source>Proposed call</source>
        <translation>待批准的调用</translation>
    </message>
    <message>
        <source>Risks</source>
        <translation>风险</translation>
    </message>
    <message>
        <source>Safety copy</source>
        <translation>安全副本</translation>
    </message>
    <message>
        <source>The server&apos;s description of the tool</source>
        <translation>服务器对该工具的描述</translation>
    </message>
    <message>
        <source>Why am I asked?</source>
        <translation>为何询问我？</translation>
    </message>
    <message>
        <source>Why you are asked: {0}</source>
        <translation>为何询问您：{0}</translation>
    </message>
</context>
<context>
    <name>QueueCard</name>
    <message>
        <source>Alt and the arrow keys move it, Enter edits it, Delete removes it.</source>
        <translation>Alt 加方向键移动，Enter 编辑，Delete 移除。</translation>
    </message>
    <message>
        <source>Edit</source>
        <translation>编辑</translation>
    </message>
    <message>
        <source>Edit the waiting message</source>
        <translation>编辑等待中的消息</translation>
    </message>
    <message>
        <source>It reaches the agent at its next step.</source>
        <translation>将在代理的下一步送达。</translation>
    </message>
    <message>
        <source>Next</source>
        <translation>下一条</translation>
    </message>
    <message>
        <source>Not sent</source>
        <translation>未发送</translation>
    </message>
    <message>
        <source>Reaches the agent at the next step</source>
        <translation>下一步送达代理</translation>
    </message>
    <message>
        <source>Reaches the agent at the next step: {text}</source>
        <translation>下一步送达代理：{text}</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>移除</translation>
    </message>
    <message>
        <source>Remove the waiting message</source>
        <translation>移除等待中的消息</translation>
    </message>
    <message>
        <source>Send into this turn</source>
        <translation>发送到本轮</translation>
    </message>
    <message>
        <source>Send now</source>
        <translation>立即发送</translation>
    </message>
    <message>
        <source>Send the waiting message now</source>
        <translation>立即发送等待中的消息</translation>
    </message>
    <message>
        <source>Send the waiting message now, into this turn</source>
        <translation>立即将等待中的消息发送到本轮</translation>
    </message>
    <message>
        <source>Waiting: {text}</source>
        <translation>等待中：{text}</translation>
    </message>
</context>
<context>
    <name>QuitQuestion</name>
    <message>
        <source>A program is still running in the terminal. End it and quit?</source>
        <translation>终端中仍有程序在运行。结束它并退出？</translation>
    </message>
    <message>
        <source>Its processes are ended. The conversation and its changes are kept.</source>
        <translation>其进程会被结束。对话及其更改会保留。</translation>
    </message>
    <message>
        <source>Or let it go on without the window. Starting Desktop Agent again brings the window back.</source>
        <translation>也可以让它在没有窗口的情况下继续。再次启动 Desktop Agent 即可恢复窗口。</translation>
    </message>
    <message>
        <source>Work in the background</source>
        <translation>在后台工作</translation>
    </message>
    <message>
        <source>Quit</source>
        <translation>退出</translation>
    </message>
    <message>
        <source>Stop and quit</source>
        <translation>停止并退出</translation>
    </message>
    <message>
        <source>The agent is still working. Stop it and quit?</source>
        <translation>代理仍在工作。停止并退出？</translation>
    </message>
</context>
<context>
    <name>Quoting</name>
    <message>
        <source>“{0}”</source>
        <translation>“{0}”</translation>
    </message>
</context>
<context>
    <name>ReadAloud</name>
    <message>
        <source>Text of the terminal</source>
        <translation>终端的文本</translation>
    </message>
</context>
<context>
    <name>Removal</name>
    <message>
        <source>Keep it</source>
        <translation>保留</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>移除</translation>
    </message>
    <message>
        <source>Remove it</source>
        <translation>移除</translation>
    </message>
</context>
<context>
    <name>RenameDialog</name>
    <message>
        <source>Everything in the folder moves with it. Your change is on record, and can be undone.</source>
        <translation>文件夹中的所有内容都会一起移动。您的更改会被记录，并可撤销。</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>New name, with its path relative to the folder</source>
        <translation>新名称，含相对于文件夹的路径</translation>
    </message>
    <message>
        <source>Rename</source>
        <translation>重命名</translation>
    </message>
    <message>
        <source>Rename {0}</source>
        <translation>重命名 {0}</translation>
    </message>
    <message>
        <source>Your change is on record, and can be undone.</source>
        <translation>您的更改会被记录，可以撤销。</translation>
    </message>
</context>
<context>
    <name>ResetQuestion</name>
    <message numerus="yes">
        <source>%n actions have your own keys. They get their default keys back.</source>
        <translation>
            <numerusform>有 %n 个操作使用您自定的按键。它们将恢复原来的按键。</numerusform>
        </translation>
    </message>
    <message>
        <source>Keep them</source>
        <translation>保留</translation>
    </message>
    <message>
        <source>Reset all</source>
        <translation>全部重置</translation>
    </message>
</context>
<context>
    <name>ReviewPanel</name>
    <message>
        <source>Review</source>
        <translation>审阅</translation>
    </message>
    <message>
        <source>Wait until the turn has ended, or stop it</source>
        <translation>请等待本轮结束，或停止本轮</translation>
    </message>
</context>
<context>
    <name>RewindDialog</name>
    <message numerus="yes">
        <source>%n files are restored to their earlier state.</source>
        <translation>
            <numerusform>%n 个文件将恢复到之前的状态。</numerusform>
        </translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Conversation and files</source>
        <translation>对话和文件</translation>
    </message>
    <message>
        <source>Conversation only</source>
        <translation>仅对话</translation>
    </message>
    <message>
        <source>Files only</source>
        <translation>仅文件</translation>
    </message>
    <message>
        <source>Files stay as they are.</source>
        <translation>文件保持不变。</translation>
    </message>
    <message>
        <source>Go back</source>
        <translation>返回</translation>
    </message>
    <message>
        <source>Go back to before this message?</source>
        <translation>回到此消息之前？</translation>
    </message>
    <message>
        <source>Go back to before which message</source>
        <translation>回到哪条消息之前</translation>
    </message>
    <message numerus="yes">
        <source>The agent no longer sees %n turns, from this message on.</source>
        <translation>
            <numerusform>代理不再看到从此消息开始的 %n 轮。</numerusform>
        </translation>
    </message>
    <message>
        <source>The agent no longer sees this message and its answer.</source>
        <translation>代理不再看到此消息及其回答。</translation>
    </message>
    <message>
        <source>The conversation stays.</source>
        <translation>对话保持不变。</translation>
    </message>
    <message>
        <source>Your later changes are kept; where they clash, you are asked.</source>
        <translation>您此后所做的更改会保留；如有冲突，会询问您。</translation>
    </message>
    <message numerus="yes">
        <source>and %n more</source>
        <translation>
            <numerusform>及另外 %n 个</numerusform>
        </translation>
    </message>
    <message>
        <source>{0}: {1}</source>
        <translation>{0}：{1}</translation>
    </message>
</context>
<context>
    <name>RuleEditor</name>
    <message>
        <source>Allow {0} in this folder</source>
        <translation>在此文件夹中允许 {0}</translation>
    </message>
    <message>
        <source>Allow {0} in this session</source>
        <translation>在此会话中允许 {0}</translation>
    </message>
    <message>
        <source>Also from now on everywhere</source>
        <translation>今后在任何位置都允许</translation>
    </message>
    <message>
        <source>Also from now on in this folder</source>
        <translation>今后在此文件夹中也允许</translation>
    </message>
    <message>
        <source>Also from now on in this session</source>
        <translation>今后在此会话中也允许</translation>
    </message>
    <message>
        <source>Always allow {0}</source>
        <translation>始终允许 {0}</translation>
    </message>
    <message>
        <source>At the end of today</source>
        <translation>今天结束时</translation>
    </message>
    <message>
        <source>Calls of</source>
        <translation>调用</translation>
    </message>
    <message>
        <source>Commands that begin with</source>
        <translation>以此开头的命令</translation>
    </message>
    <message>
        <source>Edits of</source>
        <translation>编辑</translation>
    </message>
    <message>
        <source>Ends</source>
        <translation>到期</translation>
    </message>
    <message>
        <source>Exactly this command</source>
        <translation>仅此命令</translation>
    </message>
    <message>
        <source>In 1 hour</source>
        <translation>1 小时后</translation>
    </message>
    <message>
        <source>In 30 days</source>
        <translation>30 天后</translation>
    </message>
    <message>
        <source>In 7 days</source>
        <translation>7 天后</translation>
    </message>
    <message>
        <source>Never</source>
        <translation>从不</translation>
    </message>
    <message>
        <source>This rule does not match this request: you would be asked again.</source>
        <translation>此规则与本次请求不匹配：仍会再次询问您。</translation>
    </message>
    <message>
        <source>When the rule ends</source>
        <translation>规则何时到期</translation>
    </message>
    <message numerus="yes">
        <source>You were asked %n times for calls like this.</source>
        <translation>
            <numerusform>此类调用已询问您 %n 次。</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>You were asked %n times for commands like this.</source>
        <translation>
            <numerusform>此类命令已询问您 %n 次。</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>You were asked %n times for edits like this.</source>
        <translation>
            <numerusform>此类编辑已询问您 %n 次。</numerusform>
        </translation>
    </message>
    <message>
        <source>all edits</source>
        <translation>所有编辑</translation>
    </message>
    <message>
        <source>and</source>
        <translation>和</translation>
    </message>
    <message>
        <source>edits of {0}</source>
        <translation>对 {0} 的编辑</translation>
    </message>
    <message>
        <source>{0} outside the sandbox</source>
        <translation>在沙盒外运行 {0}</translation>
    </message>
    <message>
        <source>“{0}” and {1} more</source>
        <translation>“{0}”及另外 {1} 项</translation>
    </message>
    <message>
        <source>“{0}” and “{1}”</source>
        <translation>“{0}”和“{1}”</translation>
    </message>
</context>
<context>
    <name>RulePreview</name>
    <message>
        <source>Would have been allowed</source>
        <translation>本会被允许</translation>
    </message>
    <message>
        <source>Would still ask</source>
        <translation>仍会询问</translation>
    </message>
</context>
<context>
    <name>RuleRow</name>
    <message>
        <source>Allow</source>
        <translation>允许</translation>
    </message>
    <message>
        <source>Ask for</source>
        <translation>询问</translation>
    </message>
    <message>
        <source>Forbid</source>
        <translation>禁止</translation>
    </message>
    <message>
        <source>Made {0}
{1}</source>
        <translation>创建于 {0}
{1}</translation>
    </message>
    <message>
        <source>Revoke</source>
        <translation>撤回</translation>
    </message>
    <message>
        <source>Revoke the rule for {0}</source>
        <translation>撤回 {0} 的规则</translation>
    </message>
    <message>
        <source>The next such call asks again</source>
        <translation>下次此类调用会再次询问</translation>
    </message>
    <message>
        <source>calls of</source>
        <translation>调用</translation>
    </message>
    <message>
        <source>edits of</source>
        <translation>编辑</translation>
    </message>
    <message>
        <source>ended {0}</source>
        <translation>已于 {0} 到期</translation>
    </message>
    <message>
        <source>ends {0}</source>
        <translation>{0} 到期</translation>
    </message>
    <message>
        <source>everywhere</source>
        <translation>任何位置</translation>
    </message>
    <message>
        <source>exactly</source>
        <translation>完全匹配</translation>
    </message>
    <message>
        <source>outside the sandbox, without a repository, so it does not apply: create it again</source>
        <translation>用于沙盒之外，但未指明仓库，因此不适用：请重新创建</translation>
    </message>
    <message>
        <source>in this folder</source>
        <translation>在此文件夹中</translation>
    </message>
    <message>
        <source>in this session</source>
        <translation>在此会话中</translation>
    </message>
    <message>
        <source>made {0}</source>
        <translation>创建于 {0}</translation>
    </message>
    <message>
        <source>never ends</source>
        <translation>永不到期</translation>
    </message>
    <message>
        <source>outside the sandbox</source>
        <translation>在沙盒外</translation>
    </message>
    <message>
        <source>outside the sandbox, in {0}</source>
        <translation>沙盒之外，位于 {0}</translation>
    </message>
</context>
<context>
    <name>RulesPage</name>
    <message>
        <source>Filter rules</source>
        <translation>筛选规则</translation>
    </message>
    <message>
        <source>No rule matches.</source>
        <translation>没有匹配的规则。</translation>
    </message>
    <message>
        <source>There are no rules. To add one, choose something other than “Only this once” when you are asked.</source>
        <translation>没有规则。被询问时选择“仅此一次”以外的选项，规则就会列在这里。</translation>
    </message>
    <message>
        <source>What your earlier answers allow without asking, in the session shown.</source>
        <translation>在当前显示的会话中，您之前的答复允许哪些操作无需询问。</translation>
    </message>
</context>
<context>
    <name>SamplingCard</name>
    <message>
        <source>A million input and output tokens cost {price}.</source>
        <translation>每百万 token 的读取和写入价格为 {price}。</translation>
    </message>
    <message>
        <source>Allow in this session</source>
        <translation>在此会话中允许</translation>
    </message>
    <message>
        <source>Allow once</source>
        <translation>允许一次</translation>
    </message>
    <message>
        <source>Deny</source>
        <translation>拒绝</translation>
    </message>
    <message>
        <source>The cost is not known.</source>
        <translation>费用未知。</translation>
    </message>
    <message>
        <source>The server may ask the model without asking you until the session is closed</source>
        <translation>在会话关闭之前，服务器可以不经询问直接请求模型</translation>
    </message>
    <message>
        <source>The words above are the server&apos;s. The model sees nothing of the conversation and has no tools. Its answer goes to the server.</source>
        <translation>以上内容来自服务器。模型看不到对话，也没有工具。其回答会发送给服务器。</translation>
    </message>
    <message>
        <source>There is no additional cost.</source>
        <translation>不产生额外费用。</translation>
    </message>
    <message>
        <source>What is sent to the model</source>
        <translation>发送给模型的内容</translation>
    </message>
    <message>
        <source>{model} answers, with at most {tokens} tokens.</source>
        <translation>由 {model} 回答，最多 {tokens} 个 token。</translation>
    </message>
    <message>
        <source>— As the model —</source>
        <translation>— 以模型身份 —</translation>
    </message>
    <message>
        <source>— As the user —</source>
        <translation>— 以用户身份 —</translation>
    </message>
    <message>
        <source>— Instructions —</source>
        <translation>— 指令 —</translation>
    </message>
</context>
<context>
    <name>SandboxFields</name>
    <message>
        <source>Folders of your home that the server may read</source>
        <translation>服务器可读取的主目录文件夹</translation>
    </message>
    <message>
        <source>Folders that the server may write</source>
        <translation>服务器可写入的文件夹</translation>
    </message>
    <message>
        <source>Hosts that the server may reach</source>
        <translation>服务器可访问的主机</translation>
    </message>
    <message>
        <source>It reads the open folder (.), without its secrets, and what you list here, separated by commas.</source>
        <translation>它可读取打开的文件夹 (.)（不含其中的机密），以及此处列出的内容（用逗号分隔）。</translation>
    </message>
    <message>
        <source>May reach</source>
        <translation>可访问</translation>
    </message>
    <message>
        <source>May read</source>
        <translation>可读取</translation>
    </message>
    <message>
        <source>May write</source>
        <translation>可写入</translation>
    </message>
    <message>
        <source>None. For example: . (the open folder), ~/notes</source>
        <translation>无。例如：.（打开的文件夹）、~/notes</translation>
    </message>
    <message>
        <source>None. For example: example.org, *.example.org</source>
        <translation>无。例如：example.org、*.example.org</translation>
    </message>
    <message>
        <source>None. It reads the open folder and tool chains</source>
        <translation>无。它可读取打开的文件夹和工具链</translation>
    </message>
    <message>
        <source>Not sandboxed: it runs with all of your rights. Add only what you trust.</source>
        <translation>不受限：它以您的全部权限运行。只添加您信任的服务器。</translation>
    </message>
    <message>
        <source>Run the server in the sandbox</source>
        <translation>在沙盒中运行服务器</translation>
    </message>
    <message>
        <source>Sandbox</source>
        <translation>沙盒</translation>
    </message>
</context>
<context>
    <name>SaveBar</name>
    <message>
        <source>Discard</source>
        <translation>放弃</translation>
    </message>
    <message>
        <source>Keep editing</source>
        <translation>继续编辑</translation>
    </message>
    <message>
        <source>Nothing was written; your text is still here.</source>
        <translation>未写入任何内容；您的文本仍在。</translation>
    </message>
    <message>
        <source>Overwrite</source>
        <translation>覆盖</translation>
    </message>
    <message>
        <source>Overwrite writes your version as a new file; Reload drops it.</source>
        <translation>“覆盖”将您的版本写为新文件；“重新加载”放弃它。</translation>
    </message>
    <message>
        <source>Overwrite writes your version; Reload drops it and shows the file as it is.</source>
        <translation>“覆盖”写入您的版本；“重新加载”放弃它并显示文件现状。</translation>
    </message>
    <message>
        <source>Reload</source>
        <translation>重新加载</translation>
    </message>
    <message>
        <source>Save</source>
        <translation>保存</translation>
    </message>
    <message>
        <source>Show difference</source>
        <translation>显示差异</translation>
    </message>
    <message>
        <source>This file was changed on disk since you began to edit it.</source>
        <translation>自您开始编辑以来，磁盘上的此文件已更改。</translation>
    </message>
    <message>
        <source>This file was deleted or moved since you began to edit it.</source>
        <translation>自您开始编辑以来，此文件已被删除或移动。</translation>
    </message>
    <message>
        <source>Your changes to this file are not saved.</source>
        <translation>您对此文件的更改尚未保存。</translation>
    </message>
</context>
<context>
    <name>ScaleButtons</name>
    <message>
        <source>100 %</source>
        <translation>100%</translation>
    </message>
    <message>
        <source>Fit</source>
        <translation>适应</translation>
    </message>
    <message>
        <source>Fit it in the window (0)</source>
        <translation>适合窗口 (0)</translation>
    </message>
    <message>
        <source>Show it at its actual size (1)</source>
        <translation>按原始大小显示 (1)</translation>
    </message>
</context>
<context>
    <name>ScopeChoice</name>
    <message>
        <source>A modified command can only be allowed once</source>
        <translation>修改过的命令只能允许一次</translation>
    </message>
    <message>
        <source>Allow</source>
        <translation>允许</translation>
    </message>
    <message>
        <source>Allow once</source>
        <translation>允许一次</translation>
    </message>
    <message>
        <source>If you allow:</source>
        <translation>如果允许：</translation>
    </message>
    <message>
        <source>Only this once</source>
        <translation>仅此一次</translation>
    </message>
    <message>
        <source>What to allow</source>
        <translation>允许的范围</translation>
    </message>
</context>
<context>
    <name>SearchFilters</name>
    <message>
        <source>About a file</source>
        <translation>关于某个文件</translation>
    </message>
    <message>
        <source>All folders</source>
        <translation>所有文件夹</translation>
    </message>
    <message>
        <source>Any time</source>
        <translation>任何时间</translation>
    </message>
    <message>
        <source>Any tool</source>
        <translation>任何工具</translation>
    </message>
    <message>
        <source>Changes</source>
        <translation>更改</translation>
    </message>
    <message>
        <source>Commands</source>
        <translation>命令</translation>
    </message>
    <message>
        <source>Everything</source>
        <translation>全部</translation>
    </message>
    <message>
        <source>File</source>
        <translation>文件</translation>
    </message>
    <message numerus="yes">
        <source>Last %n days</source>
        <translation>
            <numerusform>最近 %n 天</numerusform>
        </translation>
    </message>
    <message>
        <source>Last year</source>
        <translation>最近一年</translation>
    </message>
    <message>
        <source>Outputs</source>
        <translation>输出</translation>
    </message>
    <message>
        <source>Replies</source>
        <translation>回复</translation>
    </message>
    <message>
        <source>Since yesterday</source>
        <translation>自昨天起</translation>
    </message>
    <message>
        <source>This folder</source>
        <translation>此文件夹</translation>
    </message>
    <message>
        <source>Titles</source>
        <translation>标题</translation>
    </message>
    <message>
        <source>Tool</source>
        <translation>工具</translation>
    </message>
    <message>
        <source>What</source>
        <translation>内容</translation>
    </message>
    <message>
        <source>What I wrote</source>
        <translation>我写的内容</translation>
    </message>
    <message>
        <source>When</source>
        <translation>时间</translation>
    </message>
    <message>
        <source>Where</source>
        <translation>位置</translation>
    </message>
</context>
<context>
    <name>SearchPage</name>
    <message>
        <source>And {0} more. Type more to narrow the list.</source>
        <translation>还有 {0} 项。输入更多以缩小范围。</translation>
    </message>
    <message>
        <source>Found settings</source>
        <translation>找到的设置</translation>
    </message>
    <message>
        <source>No setting matches “{0}”.</source>
        <translation>没有与“{0}”匹配的设置。</translation>
    </message>
</context>
<context>
    <name>SearchPanel</name>
    <message numerus="yes">
        <source>%n places</source>
        <translation>
            <numerusform>%n 处</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n sessions</source>
        <translation>
            <numerusform>%n 个会话</numerusform>
        </translation>
    </message>
    <message>
        <source>Finds words in any order and &quot;quoted phrases&quot; as written, newest first.</source>
        <translation>按任意顺序查找词语，&quot;引号内的短语&quot;按原样查找，最新的在前。</translation>
    </message>
    <message>
        <source>Nothing found.</source>
        <translation>未找到。</translation>
    </message>
    <message>
        <source>Reading what is new…</source>
        <translation>正在读取新内容…</translation>
    </message>
    <message>
        <source>Search all sessions</source>
        <translation>搜索所有会话</translation>
    </message>
    <message>
        <source>Search prompts, replies, commands, outputs and changes</source>
        <translation>搜索消息、回复、命令、输出和更改</translation>
    </message>
    <message>
        <source>Searching…</source>
        <translation>正在搜索…</translation>
    </message>
    <message>
        <source>{0} in {1}</source>
        <translation>{1}中的 {0}</translation>
    </message>
</context>
<context>
    <name>SectionList</name>
    <message>
        <source>What the model sees, part by part</source>
        <translation>模型看到的各部分内容</translation>
    </message>
    <message>
        <source>{0}, {1} tokens</source>
        <translation>{0}，{1} 个 token</translation>
    </message>
    <message>
        <source>{0}, {1} tokens, not sent</source>
        <translation>{0}，{1} 个 token，不发送</translation>
    </message>
</context>
<context>
    <name>SelectionBar</name>
    <message numerus="yes">
        <source>%n selected</source>
        <translation>
            <numerusform>已选择 %n 项</numerusform>
        </translation>
    </message>
    <message>
        <source>Archive</source>
        <translation>归档</translation>
    </message>
    <message>
        <source>Clear</source>
        <translation>清除</translation>
    </message>
    <message>
        <source>Delete…</source>
        <translation>删除…</translation>
    </message>
    <message>
        <source>Pin</source>
        <translation>固定</translation>
    </message>
    <message>
        <source>Selected sessions</source>
        <translation>所选会话</translation>
    </message>
    <message>
        <source>Unarchive</source>
        <translation>取回</translation>
    </message>
    <message>
        <source>Unpin</source>
        <translation>取消固定</translation>
    </message>
</context>
<context>
    <name>SentComments</name>
    <message>
        <source>Plan</source>
        <translation>计划</translation>
    </message>
    <message>
        <source>{0} · line {1}</source>
        <translation>{0} · 第 {1} 行</translation>
    </message>
    <message>
        <source>{0} · lines {1}–{2}</source>
        <translation>{0} · 第 {1}–{2} 行</translation>
    </message>
    <message>
        <source>{0} · whole file</source>
        <translation>{0} · 整个文件</translation>
    </message>
    <message>
        <source>{0}, before the change</source>
        <translation>{0}，更改前</translation>
    </message>
</context>
<context>
    <name>ServerCard</name>
    <message>
        <source>Calls</source>
        <translation>调用</translation>
    </message>
    <message>
        <source>Edit the server {0}</source>
        <translation>编辑服务器 {0}</translation>
    </message>
    <message>
        <source>Edit…</source>
        <translation>编辑…</translation>
    </message>
    <message>
        <source>Hide calls</source>
        <translation>隐藏调用</translation>
    </message>
    <message>
        <source>Hide log</source>
        <translation>隐藏日志</translation>
    </message>
    <message>
        <source>Hide tools</source>
        <translation>隐藏工具</translation>
    </message>
    <message>
        <source>Log</source>
        <translation>日志</translation>
    </message>
    <message>
        <source>Remove the server {0}</source>
        <translation>移除服务器 {0}</translation>
    </message>
    <message>
        <source>Remove {0} from your settings?</source>
        <translation>从设置中移除 {0}？</translation>
    </message>
    <message>
        <source>Restart</source>
        <translation>重新启动</translation>
    </message>
    <message>
        <source>Sign in with the server {0}</source>
        <translation>登录服务器 {0}</translation>
    </message>
    <message>
        <source>Sign in…</source>
        <translation>登录…</translation>
    </message>
    <message>
        <source>Starting…</source>
        <translation>正在启动…</translation>
    </message>
    <message>
        <source>Test</source>
        <translation>测试</translation>
    </message>
    <message>
        <source>The project&apos;s file defines it</source>
        <translation>由项目文件定义</translation>
    </message>
    <message>
        <source>The test failed. Remove {0} from your settings?</source>
        <translation>测试失败。要从设置中移除 {0} 吗？</translation>
    </message>
    <message>
        <source>Tools</source>
        <translation>工具</translation>
    </message>
    <message>
        <source>Use the server {0}</source>
        <translation>使用服务器 {0}</translation>
    </message>
</context>
<context>
    <name>ServerControl</name>
    <message>
        <source>Imported: {0}.</source>
        <translation>已导入：{0}。</translation>
    </message>
    <message>
        <source>Moved to the keyring: {0}.</source>
        <translation>已移到密钥环：{0}。</translation>
    </message>
    <message>
        <source>The MCP server {0} failed its test, and was removed from your settings.</source>
        <translation>MCP 服务器 {0} 未通过测试，已从您的设置中移除。</translation>
    </message>
    <message>
        <source>To keep a server that fails, choose “Keep it” before you close the settings.</source>
        <translation>若要保留测试失败的服务器，请在关闭设置之前选择“保留”。</translation>
    </message>
    <message>
        <source>none</source>
        <translation>无</translation>
    </message>
</context>
<context>
    <name>ServerForm</name>
    <message>
        <source>Add and test</source>
        <translation>添加并测试</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Command</source>
        <translation>命令</translation>
    </message>
    <message>
        <source>Command line or address of the server</source>
        <translation>服务器的命令行或地址</translation>
    </message>
    <message>
        <source>Edit {0}</source>
        <translation>编辑 {0}</translation>
    </message>
    <message>
        <source>For example: git</source>
        <translation>例如：git</translation>
    </message>
    <message>
        <source>It needs: {0}</source>
        <translation>需要：{0}</translation>
    </message>
    <message>
        <source>Known servers</source>
        <translation>已知服务器</translation>
    </message>
    <message>
        <source>Name</source>
        <translation>名称</translation>
    </message>
    <message>
        <source>Name of the server</source>
        <translation>服务器名称</translation>
    </message>
    <message>
        <source>New server</source>
        <translation>新服务器</translation>
    </message>
    <message>
        <source>Save and test</source>
        <translation>保存并测试</translation>
    </message>
    <message>
        <source>Server</source>
        <translation>服务器</translation>
    </message>
    <message>
        <source>The server cannot be added: {0}.</source>
        <translation>无法添加服务器：{0}。</translation>
    </message>
    <message>
        <source>A server with this name already exists.</source>
        <translation>已有同名服务器。</translation>
    </message>
    <message>
        <source>Your own</source>
        <translation>自定义</translation>
    </message>
    <message>
        <source>uvx mcp-server-git, or https://…</source>
        <translation>uvx mcp-server-git，或 https://…</translation>
    </message>
</context>
<context>
    <name>ServerNote</name>
    <message>
        <source>Look again</source>
        <translation>重新查找</translation>
    </message>
    <message>
        <source>Looking…</source>
        <translation>正在查找…</translation>
    </message>
</context>
<context>
    <name>ServerQuestionCard</name>
    <message>
        <source>Address</source>
        <translation>地址</translation>
    </message>
    <message>
        <source>Decline</source>
        <translation>谢绝</translation>
    </message>
    <message>
        <source>Open in browser</source>
        <translation>在浏览器中打开</translation>
    </message>
    <message>
        <source>Send</source>
        <translation>发送</translation>
    </message>
    <message>
        <source>The page is at {host} and opens in your browser. What you do there stays there.</source>
        <translation>该页面位于 {host}，将在浏览器中打开。您在那里的操作只留在那里。</translation>
    </message>
    <message>
        <source>{server} wrote the words above and gets your answer: write no password or key here.</source>
        <translation>以上内容由 {server} 撰写，您的回答也会发给它：请勿在此填写密码或密钥。</translation>
    </message>
    <message>
        <source>{server} asks you something</source>
        <translation>{server} 向您提问</translation>
    </message>
    <message>
        <source>{server} wants you to visit a page</source>
        <translation>{server} 希望您访问一个页面</translation>
    </message>
</context>
<context>
    <name>ServerWords</name>
    <message numerus="yes">
        <source>%n tools</source>
        <translation>
            <numerusform>%n 个工具</numerusform>
        </translation>
    </message>
    <message>
        <source>Failed too often. Restart it once the cause is fixed.</source>
        <translation>失败次数过多。排除原因后请重新启动。</translation>
    </message>
    <message>
        <source>Failed. It is tried again when it is needed.</source>
        <translation>失败。需要时会再次尝试。</translation>
    </message>
    <message>
        <source>In plain text in your settings: {0}. To move it to the keyring, choose “Edit…” and save.</source>
        <translation>以明文存于您的设置中：{0}。若要移到密钥环，请选择“编辑…”并保存。</translation>
    </message>
    <message>
        <source>Not running. It starts when it is needed.</source>
        <translation>未运行。需要时会启动。</translation>
    </message>
    <message>
        <source>Running</source>
        <translation>运行中</translation>
    </message>
    <message>
        <source>Running. A call needs more permissions: sign in again.</source>
        <translation>正在运行。有调用需要更多权限：请重新登录。</translation>
    </message>
    <message>
        <source>Switched off. Its tools are not offered to the model.</source>
        <translation>已关闭。不会向模型提供其工具。</translation>
    </message>
    <message>
        <source>Starting…</source>
        <translation>正在启动…</translation>
    </message>
    <message>
        <source>Waiting for your answer about the project or the plugin.</source>
        <translation>正在等待您对该项目或插件的回答。</translation>
    </message>
    <message>
        <source>no tools</source>
        <translation>没有工具</translation>
    </message>
    <message>
        <source>protocol {0} ({1})</source>
        <translation>协议 {0}（{1}）</translation>
    </message>
    <message>
        <source>with a handshake</source>
        <translation>有握手</translation>
    </message>
    <message>
        <source>without a handshake</source>
        <translation>无握手</translation>
    </message>
    <message>
        <source>{0} of {1}</source>
        <translation>{0}/{1}</translation>
    </message>
    <message numerus="yes">
        <source>{0}, about %n tokens in each request</source>
        <translation>
            <numerusform>{0}，每次请求约 %n 个 token</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>ServersPage</name>
    <message>
        <source>Add server…</source>
        <translation>添加服务器…</translation>
    </message>
    <message>
        <source>All files (*)</source>
        <translation>所有文件 (*)</translation>
    </message>
    <message>
        <source>Import MCP servers</source>
        <translation>导入 MCP 服务器</translation>
    </message>
    <message>
        <source>Import the servers of another tool</source>
        <translation>导入其他工具的服务器</translation>
    </message>
    <message>
        <source>Import…</source>
        <translation>导入…</translation>
    </message>
    <message>
        <source>JSON files (*.json)</source>
        <translation>JSON 文件 (*.json)</translation>
    </message>
    <message>
        <source>No servers yet. An MCP server is a program or service that offers the model tools: for a browser, a database, an issue tracker. To add one, enter the command line or the address from its documentation, or import the servers of another tool.</source>
        <translation>尚无服务器。MCP 服务器是为模型提供工具的程序或服务：用于浏览器、数据库、问题跟踪器等。请按其说明中的命令行或地址添加，或从其他工具导入。</translation>
    </message>
</context>
<context>
    <name>SessionActions</name>
    <message>
        <source>Conversations of Claude Code, Codex and Desktop Agent (*.jsonl)</source>
        <translation>Claude Code、Codex 和 Desktop Agent 的对话 (*.jsonl)</translation>
    </message>
    <message>
        <source>Export the conversation</source>
        <translation>导出对话</translation>
    </message>
    <message>
        <source>Import a conversation</source>
        <translation>导入对话</translation>
    </message>
    <message>
        <source>JSON lines, to import elsewhere (*.jsonl)</source>
        <translation>JSON 行，可在别处导入 (*.jsonl)</translation>
    </message>
    <message>
        <source>Markdown (*.md)</source>
        <translation>Markdown (*.md)</translation>
    </message>
    <message>
        <source>Patch of the changes (*.patch)</source>
        <translation>更改的补丁 (*.patch)</translation>
    </message>
    <message>
        <source>Web page (*.html)</source>
        <translation>网页 (*.html)</translation>
    </message>
</context>
<context>
    <name>SessionChoice</name>
    <message>
        <source>Open a folder</source>
        <translation>打开文件夹</translation>
    </message>
</context>
<context>
    <name>SessionDelegate</name>
    <message>
        <source>Title of the session</source>
        <translation>会话标题</translation>
    </message>
</context>
<context>
    <name>SessionGroups</name>
    <message>
        <source>Archived</source>
        <translation>已归档</translation>
    </message>
    <message>
        <source>Done</source>
        <translation>已完成</translation>
    </message>
    <message>
        <source>Earlier this year</source>
        <translation>今年早些时候</translation>
    </message>
    <message>
        <source>Failed</source>
        <translation>失败</translation>
    </message>
    <message>
        <source>Other folders</source>
        <translation>其他文件夹</translation>
    </message>
    <message>
        <source>Pinned</source>
        <translation>已固定</translation>
    </message>
    <message>
        <source>The last 30 days</source>
        <translation>最近 30 天</translation>
    </message>
    <message>
        <source>The last 7 days</source>
        <translation>最近 7 天</translation>
    </message>
    <message>
        <source>This folder</source>
        <translation>此文件夹</translation>
    </message>
    <message>
        <source>Today</source>
        <translation>今天</translation>
    </message>
    <message>
        <source>Waiting for you</source>
        <translation>等待您处理</translation>
    </message>
    <message>
        <source>Working</source>
        <translation>进行中</translation>
    </message>
    <message>
        <source>Yesterday</source>
        <translation>昨天</translation>
    </message>
</context>
<context>
    <name>SessionListModel</name>
    <message>
        <source>Fold the sessions</source>
        <translation>折叠会话</translation>
    </message>
    <message>
        <source>Show the sessions</source>
        <translation>显示会话</translation>
    </message>
    <message>
        <source>{0}, folded, {1}</source>
        <translation>{0}，已折叠，{1}</translation>
    </message>
</context>
<context>
    <name>SessionMenu</name>
    <message>
        <source>Archive</source>
        <translation>归档</translation>
    </message>
    <message>
        <source>Bring back…</source>
        <translation>取回…</translation>
    </message>
    <message>
        <source>Copy link</source>
        <translation>复制链接</translation>
    </message>
    <message>
        <source>Copy the command that continues it in {0}</source>
        <translation>复制在 {0} 中继续的命令</translation>
    </message>
    <message>
        <source>Delete…</source>
        <translation>删除…</translation>
    </message>
    <message>
        <source>Export…</source>
        <translation>导出…</translation>
    </message>
    <message>
        <source>Make a copy</source>
        <translation>创建副本</translation>
    </message>
    <message>
        <source>Open</source>
        <translation>打开</translation>
    </message>
    <message>
        <source>Open in a new window</source>
        <translation>在新窗口中打开</translation>
    </message>
    <message>
        <source>Pin to the top</source>
        <translation>置顶</translation>
    </message>
    <message>
        <source>Rename</source>
        <translation>重命名</translation>
    </message>
    <message>
        <source>Select</source>
        <translation>选择</translation>
    </message>
    <message>
        <source>Show in folder</source>
        <translation>在文件夹中显示</translation>
    </message>
    <message>
        <source>Unarchive</source>
        <translation>从归档中取回</translation>
    </message>
    <message>
        <source>Unpin</source>
        <translation>取消固定</translation>
    </message>
</context>
<context>
    <name>SessionPanel</name>
    <message>
        <source>+ New</source>
        <translation>+ 新建</translation>
    </message>
    <message>
        <source>Hide archived</source>
        <translation>隐藏已归档</translation>
    </message>
    <message>
        <source>More ways to begin</source>
        <translation>更多开始方式</translation>
    </message>
    <message>
        <source>New session</source>
        <translation>新会话</translation>
    </message>
    <message>
        <source>No sessions yet. Your first message starts one.</source>
        <translation>尚无会话。发送第一条消息即可开始。</translation>
    </message>
    <message>
        <source>Reading your sessions…</source>
        <translation>正在读取您的会话…</translation>
    </message>
    <message>
        <source>Sessions</source>
        <translation>会话</translation>
    </message>
    <message>
        <source>Show archived ({0})</source>
        <translation>显示已归档 ({0})</translation>
    </message>
</context>
<context>
    <name>SessionWords</name>
    <message numerus="yes">
        <source>%n turns</source>
        <translation>
            <numerusform>%n 轮</numerusform>
        </translation>
    </message>
    <message>
        <source>New session</source>
        <translation>新会话</translation>
    </message>
    <message>
        <source>archived</source>
        <translation>已归档</translation>
    </message>
    <message>
        <source>asks</source>
        <translation>询问</translation>
    </message>
    <message>
        <source>failed</source>
        <translation>失败</translation>
    </message>
    <message>
        <source>in the worktree {0}</source>
        <translation>在工作树 {0} 中</translation>
    </message>
    <message>
        <source>is working</source>
        <translation>正在工作</translation>
    </message>
    <message>
        <source>key refused</source>
        <translation>密钥被拒绝</translation>
    </message>
    <message>
        <source>no key</source>
        <translation>没有密钥</translation>
    </message>
    <message>
        <source>not signed in</source>
        <translation>未登录</translation>
    </message>
    <message>
        <source>pinned</source>
        <translation>已固定</translation>
    </message>
    <message>
        <source>runs</source>
        <translation>运行</translation>
    </message>
    <message>
        <source>selected</source>
        <translation>已选择</translation>
    </message>
    <message>
        <source>sub-agent</source>
        <translation>子代理</translation>
    </message>
    <message>
        <source>waits for you</source>
        <translation>等待您</translation>
    </message>
</context>
<context>
    <name>SettingRow</name>
    <message>
        <source>Changed. Default: {0}</source>
        <translation>已更改。默认值：{0}</translation>
    </message>
    <message>
        <source>Reset</source>
        <translation>重置</translation>
    </message>
    <message>
        <source>Reset {0}</source>
        <translation>重置 {0}</translation>
    </message>
    <message>
        <source>Set by the environment variable {0}, which overrides the file.</source>
        <translation>由环境变量 {0} 设置，优先于文件。</translation>
    </message>
    <message>
        <source>The project sets this to “{0}”, which applies here.</source>
        <translation>项目将其设置为“{0}”，在此生效。</translation>
    </message>
</context>
<context>
    <name>SettingRows</name>
    <message>
        <source>Advanced</source>
        <translation>高级</translation>
    </message>
</context>
<context>
    <name>Settings</name>
    <message>
        <source>%</source>
        <translation>%</translation>
    </message>
    <message>
        <source>A day</source>
        <translation>一天</translation>
    </message>
    <message>
        <source>A file to which every change is appended as a JSON line.</source>
        <translation>将每处更改作为一行 JSON 追加到此文件。</translation>
    </message>
    <message>
        <source>A file to which every tool call is appended as a JSON line.</source>
        <translation>将每个工具调用作为一行 JSON 追加到此文件。</translation>
    </message>
    <message>
        <source>A file to which the same data is appended, as lines of OTLP JSON.</source>
        <translation>将同样内容以 OTLP 的 JSON 行追加到此文件。</translation>
    </message>
    <message>
        <source>A file to which the shown tool calls are appended as well.</source>
        <translation>所显示的工具调用也会追加到此文件。</translation>
    </message>
    <message>
        <source>Account</source>
        <translation>账户</translation>
    </message>
    <message>
        <source>Address</source>
        <translation>地址</translation>
    </message>
    <message>
        <source>Allowed tools</source>
        <translation>允许的工具</translation>
    </message>
    <message>
        <source>Always</source>
        <translation>始终</translation>
    </message>
    <message>
        <source>A different address than the provider&apos;s own, for a gateway or proxy. A named account has its own.</source>
        <translation>不同于提供商自己的地址，用于网关或代理。有名称的账户使用自己的地址。</translation>
    </message>
    <message>
        <source>Answer every tool call without running it.</source>
        <translation>答复每个工具调用但不执行。</translation>
    </message>
    <message>
        <source>Anthropic</source>
        <translation>Anthropic</translation>
    </message>
    <message>
        <source>Appearance</source>
        <translation>外观</translation>
    </message>
    <message>
        <source>Applies from the next run.</source>
        <translation>从下次运行起生效。</translation>
    </message>
    <message>
        <source>Applies to new sessions.</source>
        <translation>适用于新会话。</translation>
    </message>
    <message>
        <source>Applies when the window is next opened.</source>
        <translation>下次打开窗口时生效。</translation>
    </message>
    <message>
        <source>Approvals</source>
        <translation>审批</translation>
    </message>
    <message>
        <source>Asks before every call</source>
        <translation>每次调用前询问</translation>
    </message>
    <message>
        <source>Asks before writing</source>
        <translation>写入前询问</translation>
    </message>
    <message>
        <source>Asks to leave the sandbox</source>
        <translation>离开沙盒前询问</translation>
    </message>
    <message>
        <source>Audit log</source>
        <translation>审计日志</translation>
    </message>
    <message>
        <source>Blocked commands</source>
        <translation>禁止的命令</translation>
    </message>
    <message>
        <source>Blocked tools</source>
        <translation>禁止的工具</translation>
    </message>
    <message>
        <source>The names of the servers that are used.</source>
        <translation>使用的服务器的名称。</translation>
    </message>
    <message>
        <source>Total size of copies</source>
        <translation>副本总大小</translation>
    </message>
    <message>
        <source>Turns kept in full</source>
        <translation>完整保留的轮次</translation>
    </message>
    <message>
        <source>What may happen without approval, and how commands are confined.</source>
        <translation>哪些操作无需询问，以及如何限制命令。</translation>
    </message>
    <message>
        <source>What the agent does without asking. Each session can choose its own below the message field.</source>
        <translation>代理无需询问即可执行的操作。每个会话都可以在消息框下方另行选择。</translation>
    </message>
    <message>
        <source>When the model is overloaded</source>
        <translation>过载时</translation>
    </message>
    <message>
        <source>Where the desktop supports sounds.</source>
        <translation>如果桌面会播放声音。</translation>
    </message>
    <message>
        <source>Which of the provider&apos;s accounts is used. `desktop-agent auth status` lists them.</source>
        <translation>用提供商的哪个账户请求其模型。`desktop-agent auth status` 会列出账户。</translation>
    </message>
    <message>
        <source>Bytes of a result</source>
        <translation>结果的字节数</translation>
    </message>
    <message>
        <source>Changes made by commands</source>
        <translation>命令的更改</translation>
    </message>
    <message>
        <source>Comfortable</source>
        <translation>宽松</translation>
    </message>
    <message>
        <source>Command line</source>
        <translation>命令行</translation>
    </message>
    <message>
        <source>Compact</source>
        <translation>紧凑</translation>
    </message>
    <message>
        <source>Context window</source>
        <translation>上下文窗口</translation>
    </message>
    <message>
        <source>Dark</source>
        <translation>深色</translation>
    </message>
    <message>
        <source>Dark, high contrast</source>
        <translation>深色，高对比度</translation>
    </message>
    <message>
        <source>Data about sessions that is sent to a receiver of yours. By default, nothing is sent.</source>
        <translation>您的接收端能得知会话的哪些信息。默认没有。</translation>
    </message>
    <message>
        <source>Defaults of `desktop-agent run`. Its own options take precedence.</source>
        <translation>`desktop-agent run` 的默认值。其自身选项优先。</translation>
    </message>
    <message>
        <source>Demo, without a key</source>
        <translation>演示，无需密钥</translation>
    </message>
    <message>
        <source>Density of the conversation</source>
        <translation>对话的疏密</translation>
    </message>
    <message>
        <source>Deutsch</source>
        <translation>Deutsch</translation>
    </message>
    <message>
        <source>Diffs in blue and orange</source>
        <translation>蓝色和橙色差异</translation>
    </message>
    <message>
        <source>Dry run</source>
        <translation>试运行</translation>
    </message>
    <message>
        <source>Effort</source>
        <translation>推理强度</translation>
    </message>
    <message>
        <source>End the run after the first failed call.</source>
        <translation>第一次调用失败后结束运行。</translation>
    </message>
    <message>
        <source>English</source>
        <translation>English</translation>
    </message>
    <message>
        <source>Environment variables to pass to commands even if they look like credentials or could lead out of the sandbox, such as `DATABASE_URL`. `desktop-agent doctor` lists those that are withheld.</source>
        <translation>即使看似凭据或会通向沙盒之外，仍传给命令的环境变量名称，如 `DATABASE_URL`。`desktop-agent doctor` 会列出未传递的变量。</translation>
    </message>
    <message>
        <source>Export contents</source>
        <translation>导出内容</translation>
    </message>
    <message>
        <source>Files and folders in the home folder that commands in the sandbox may read, besides tool chains and their caches. The rest is invisible to them. `~` is the home folder.</source>
        <translation>除工具链及其缓存外，沙盒中的命令可读取的主目录文件和文件夹；其余内容对它们不存在。`~` 是主目录。</translation>
    </message>
    <message>
        <source>Folders outside the workspace that tools may read and commands may write. `~` is the home folder; relative paths are relative to the settings file.</source>
        <translation>工作区之外，工具可读取、命令可写入的文件夹。`~` 是主目录；相对路径以设置文件为准。</translation>
    </message>
    <message>
        <source>Folders not watched</source>
        <translation>不监视的文件夹</translation>
    </message>
    <message>
        <source>GiB</source>
        <translation>GiB</translation>
    </message>
    <message>
        <source>How close together lines and messages stand.</source>
        <translation>行与消息之间的距离。</translation>
    </message>
    <message>
        <source>The longest that a command may take, even if its call asks for more.</source>
        <translation>无论调用如何指定，命令最多可运行多久。</translation>
    </message>
    <message>
        <source>How long a single answer may be. A longer one is cut and can be continued.</source>
        <translation>单个回答的最大长度。超出会被截断，可以继续。</translation>
    </message>
    <message>
        <source>How long one scan of the workspace may take.</source>
        <translation>扫描一次工作区最多用多久。</translation>
    </message>
    <message>
        <source>How many files are copied before a destructive command. Files beyond that are named but not copied.</source>
        <translation>破坏性命令之前复制多少文件。超出的会列出名称但不复制。</translation>
    </message>
    <message>
        <source>How many files are watched.</source>
        <translation>监视多少个文件。</translation>
    </message>
    <message>
        <source>How many lines of a tool&apos;s result the model reads.</source>
        <translation>模型读取工具结果的多少行。</translation>
    </message>
    <message>
        <source>How many of the last turns a summary leaves as they are.</source>
        <translation>摘要会原样保留最近多少轮。</translation>
    </message>
    <message>
        <source>The most requests that one run may send to the model.</source>
        <translation>一次运行最多向模型发送多少请求。</translation>
    </message>
    <message>
        <source>The context window of models for which it is not known: guidance, conversation and answer together. `desktop-agent models list` shows what is known.</source>
        <translation>对于长度未知的模型，一次可读取多少：指引、对话和回答合计。`desktop-agent models list` 显示已知信息。</translation>
    </message>
    <message>
        <source>How much is copied before a destructive command.</source>
        <translation>破坏性命令之前复制多少内容。</translation>
    </message>
    <message>
        <source>How much may be pinned; pins are sent with every request.</source>
        <translation>可固定多少内容；每次请求都会发送固定内容。</translation>
    </message>
    <message>
        <source>How much of a tool&apos;s result the model reads.</source>
        <translation>模型读取工具结果的多少。</translation>
    </message>
    <message>
        <source>How much of a tool&apos;s result the model reads. People see all of it.</source>
        <translation>模型读取工具结果的多少。用户能看到全部。</translation>
    </message>
    <message>
        <source>How much the model thinks before it answers, in its provider&apos;s term, such as low or high. `desktop-agent models list` shows the levels of each model; a model without this level gets none.</source>
        <translation>模型回答前思考的程度，使用提供商的用词，如 low 或 high。`desktop-agent models list` 显示各模型支持的值；不支持的模型不发送。</translation>
    </message>
    <message>
        <source>In the conversation and in output.</source>
        <translation>在对话和输出中。</translation>
    </message>
    <message>
        <source>In the review and in questions.</source>
        <translation>在审阅和问题中。</translation>
    </message>
    <message>
        <source>In your message, with the system&apos;s dictionaries for your languages and English, where installed.</source>
        <translation>在您的消息中，使用系统中您所用语言和英语的词典（如果有）。</translation>
    </message>
    <message>
        <source>Keyboard</source>
        <translation>键盘</translation>
    </message>
    <message>
        <source>Keys of a diff</source>
        <translation>差异中的按键</translation>
    </message>
    <message>
        <source>Keys of the conversation</source>
        <translation>对话中的按键</translation>
    </message>
    <message>
        <source>Keys of the file viewer</source>
        <translation>文件查看器中的按键</translation>
    </message>
    <message>
        <source>Keys of the message</source>
        <translation>消息栏中的按键</translation>
    </message>
    <message>
        <source>Keys of the terminal</source>
        <translation>终端中的按键</translation>
    </message>
    <message>
        <source>KiB</source>
        <translation>KiB</translation>
    </message>
    <message>
        <source>LM Studio</source>
        <translation>LM Studio</translation>
    </message>
    <message>
        <source>Language</source>
        <translation>语言</translation>
    </message>
    <message>
        <source>Largest file</source>
        <translation>最大文件</translation>
    </message>
    <message>
        <source>Allow a proxy to read requests</source>
        <translation>允许代理服务器读取</translation>
    </message>
    <message>
        <source>Let the model name a session after its first turn, with one small request.</source>
        <translation>让模型在第一轮后用一个小请求为会话命名。</translation>
    </message>
    <message>
        <source>Light</source>
        <translation>浅色</translation>
    </message>
    <message>
        <source>Light, high contrast</source>
        <translation>浅色，高对比度</translation>
    </message>
    <message>
        <source>Lines of a result</source>
        <translation>结果的行数</translation>
    </message>
    <message>
        <source>Log of changes</source>
        <translation>更改日志</translation>
    </message>
    <message>
        <source>Log of shown calls</source>
        <translation>所显示调用的日志</translation>
    </message>
    <message>
        <source>Long conversations</source>
        <translation>长对话</translation>
    </message>
    <message>
        <source>Longest answer</source>
        <translation>最长回答</translation>
    </message>
    <message>
        <source>Command time limit</source>
        <translation>命令时限</translation>
    </message>
    <message>
        <source>MCP servers</source>
        <translation>MCP 服务器</translation>
    </message>
    <message>
        <source>Memory of a command</source>
        <translation>命令的内存</translation>
    </message>
    <message>
        <source>MiB</source>
        <translation>MiB</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>Name sessions</source>
        <translation>为会话命名</translation>
    </message>
    <message>
        <source>Names of folders, anywhere in the workspace, whose content is not watched while a command runs. What changes there cannot be undone.</source>
        <translation>工作区中任意位置的文件夹名称，命令运行时不监视其内容。那里的更改无法撤销。</translation>
    </message>
    <message>
        <source>Never</source>
        <translation>从不</translation>
    </message>
    <message>
        <source>Never asks</source>
        <translation>从不询问</translation>
    </message>
    <message>
        <source>No sandbox</source>
        <translation>无沙盒</translation>
    </message>
    <message>
        <source>Notifications</source>
        <translation>通知</translation>
    </message>
    <message>
        <source>From the desktop, when something waits for you or a turn ends while the window is not in front.</source>
        <translation>窗口不在前台时，如果有内容等待您或一轮结束，则发送桌面通知。</translation>
    </message>
    <message>
        <source>The language of the window. The model&apos;s text and the command line are not translated.</source>
        <translation>窗口的语言。模型和命令行的文字不翻译。</translation>
    </message>
    <message>
        <source>Ollama</source>
        <translation>Ollama</translation>
    </message>
    <message>
        <source>A command that runs in each new worktree before its session begins, such as `npm ci`, outside of the sandbox. One that a project sets runs once you trust the project.</source>
        <translation>在每个新工作树中于会话开始前运行的命令，例如 `npm ci`，在沙盒之外运行。项目设置的命令在您信任该项目后才会运行。</translation>
    </message>
    <message>
        <source>All that are defined</source>
        <translation>所有已定义的服务器</translation>
    </message>
    <message>
        <source>Also run the hooks in your home folder that you set up for Claude Code, Codex, Cursor or Copilot.</source>
        <translation>也运行您在主文件夹中为 Claude Code、Codex、Cursor 或 Copilot 设置的钩子。</translation>
    </message>
    <message>
        <source>Amazon Bedrock</source>
        <translation>Amazon Bedrock</translation>
    </message>
    <message>
        <source>An agent of another program</source>
        <translation>其他程序的代理</translation>
    </message>
    <message>
        <source>Anthropic&apos;s SDK</source>
        <translation>Anthropic 的 SDK</translation>
    </message>
    <message>
        <source>At once</source>
        <translation>同时运行</translation>
    </message>
    <message>
        <source>Calls written as text</source>
        <translation>以文本形式写出的调用</translation>
    </message>
    <message>
        <source>Claude Platform on AWS</source>
        <translation>AWS 上的 Claude Platform</translation>
    </message>
    <message>
        <source>Diagnostics</source>
        <translation>诊断</translation>
    </message>
    <message>
        <source>Errors</source>
        <translation>错误</translation>
    </message>
    <message>
        <source>Errors and warnings</source>
        <translation>错误和警告</translation>
    </message>
    <message>
        <source>Errors that language servers find in files that the agent changed. The servers run in the sandbox: they read the folder, write nothing and reach no network.</source>
        <translation>语言服务器在代理更改过的文件中发现的错误。服务器在沙盒中运行：可读取文件夹，不写入任何内容，也无法访问网络。</translation>
    </message>
    <message>
        <source>Files of instructions that the model does not get: paths, or globs such as `GEMINI.md` and `.cursor/rules/**`; `**` stands for all. “What the model sees” has a switch for each file.</source>
        <translation>模型不会收到的指令文件：路径，或 `GEMINI.md`、`.cursor/rules/**` 这样的通配模式；`**` 表示全部。“模型看到的内容”中每个文件都有一个开关。</translation>
    </message>
    <message>
        <source>Folders that bundle skills, commands, sub-agents, hooks and MCP servers.</source>
        <translation>汇集技能、命令、子代理、钩子和 MCP 服务器的文件夹。</translation>
    </message>
    <message>
        <source>Google Vertex AI</source>
        <translation>Google Vertex AI</translation>
    </message>
    <message>
        <source>Let installed language servers check the files that a call of the agent changes.</source>
        <translation>让已安装的语言服务器检查代理的调用所更改的文件。</translation>
    </message>
    <message>
        <source>Hooks</source>
        <translation>钩子</translation>
    </message>
    <message>
        <source>Hooks of other programs</source>
        <translation>其他程序的钩子</translation>
    </message>
    <message>
        <source>Hooks switched off</source>
        <translation>已关闭的钩子</translation>
    </message>
    <message>
        <source>How long a call waits for running servers. What they find later is reported after a later call.</source>
        <translation>一次调用等待正在运行的服务器多久。它们更晚发现的问题会在之后的调用后报告。</translation>
    </message>
    <message>
        <source>How many levels of sub-agents there may be. With 1, sub-agents have none of their own.</source>
        <translation>子代理最多可以有几层。为 1 时，子代理没有自己的子代理。</translation>
    </message>
    <message>
        <source>How many sub-agents of a conversation work side by side; further ones wait. 0 offers the model none.</source>
        <translation>一个对话中同时工作的子代理数量；其余的等待。0 表示不向模型提供子代理。</translation>
    </message>
    <message>
        <source>How much of the model&apos;s context window their names and descriptions may take. What does not fit is shortened; then those that you used longest ago are left out, and the model can search for them.</source>
        <translation>其名称和说明最多可占用模型上下文窗口的多少。放不下的会被缩短；然后略去最久未使用的，模型可以搜索它们。</translation>
    </message>
    <message>
        <source>Instructions</source>
        <translation>指令</translation>
    </message>
    <message>
        <source>Instructions for particular tasks, which the model reads when it needs them.</source>
        <translation>针对特定任务的说明，模型在需要时读取。</translation>
    </message>
    <message>
        <source>Instructions not sent</source>
        <translation>不发送的指令</translation>
    </message>
    <message>
        <source>Language servers switched off</source>
        <translation>已关闭的语言服务器</translation>
    </message>
    <message>
        <source>Levels</source>
        <translation>层数</translation>
    </message>
    <message>
        <source>Longest wait</source>
        <translation>最长等待时间</translation>
    </message>
    <message>
        <source>Look for updates at</source>
        <translation>更新检查地址</translation>
    </message>
    <message>
        <source>Microsoft Foundry</source>
        <translation>Microsoft Foundry</translation>
    </message>
    <message>
        <source>Name the model in commits</source>
        <translation>在提交中注明模型</translation>
    </message>
    <message>
        <source>Nothing</source>
        <translation>不告知</translation>
    </message>
    <message>
        <source>One conversation</source>
        <translation>一次对话</translation>
    </message>
    <message>
        <source>Open files of a process</source>
        <translation>进程打开的文件数</translation>
    </message>
    <message>
        <source>OpenAI</source>
        <translation>OpenAI</translation>
    </message>
    <message>
        <source>OpenAI, Chat Completions</source>
        <translation>OpenAI，Chat Completions</translation>
    </message>
    <message>
        <source>OpenRouter</source>
        <translation>OpenRouter</translation>
    </message>
    <message>
        <source>Other folders</source>
        <translation>其他文件夹</translation>
    </message>
    <message>
        <source>Plugins</source>
        <translation>插件</translation>
    </message>
    <message>
        <source>Plugins switched off</source>
        <translation>已关闭的插件</translation>
    </message>
    <message>
        <source>Processes of a command</source>
        <translation>命令的进程数</translation>
    </message>
    <message>
        <source>Provider</source>
        <translation>提供商</translation>
    </message>
    <message>
        <source>Receiver</source>
        <translation>接收端</translation>
    </message>
    <message>
        <source>Requests of a run</source>
        <translation>一次运行的请求数</translation>
    </message>
    <message>
        <source>Requests of a sub-agent</source>
        <translation>子代理的请求数</translation>
    </message>
    <message>
        <source>Requests to Anthropic</source>
        <translation>发往 Anthropic 的请求</translation>
    </message>
    <message>
        <source>Room for pins</source>
        <translation>固定内容的空间</translation>
    </message>
    <message>
        <source>Room for the list of skills</source>
        <translation>技能列表的空间</translation>
    </message>
    <message>
        <source>Run hooks</source>
        <translation>运行钩子</translation>
    </message>
    <message>
        <source>Run the commands that are defined for events of a session.</source>
        <translation>运行为会话的各个时刻定义的命令。</translation>
    </message>
    <message>
        <source>Safety copies</source>
        <translation>安全副本</translation>
    </message>
    <message>
        <source>Sandbox</source>
        <translation>沙盒</translation>
    </message>
    <message>
        <source>Sandbox: read-only</source>
        <translation>沙盒：只读</translation>
    </message>
    <message>
        <source>Sandbox: this folder</source>
        <translation>沙盒：此文件夹</translation>
    </message>
    <message>
        <source>Send requests to an http:// address through a proxy, which can then read the key and the conversation. Without it, such requests are refused.</source>
        <translation>通过代理服务器向 http:// 地址发送请求，代理服务器因此能读取密钥和对话。未开启时拒绝此类请求。</translation>
    </message>
    <message>
        <source>Servers in use</source>
        <translation>使用的服务器</translation>
    </message>
    <message>
        <source>Set-up of worktrees</source>
        <translation>工作树的设置</translation>
    </message>
    <message>
        <source>Show every tool call on standard error.</source>
        <translation>在标准错误输出上显示每个工具调用。</translation>
    </message>
    <message>
        <source>Show tool calls</source>
        <translation>显示工具调用</translation>
    </message>
    <message>
        <source>Size of chat text</source>
        <translation>对话文字大小</translation>
    </message>
    <message>
        <source>Size of code</source>
        <translation>代码文字大小</translation>
    </message>
    <message>
        <source>Size of diffs</source>
        <translation>差异文字大小</translation>
    </message>
    <message>
        <source>Size of the interface</source>
        <translation>界面字号</translation>
    </message>
    <message>
        <source>Skills</source>
        <translation>技能</translation>
    </message>
    <message>
        <source>Skills switched off</source>
        <translation>已关闭的技能</translation>
    </message>
    <message>
        <source>Some local models write a tool call into their answer. It counts as a call if there is no other.</source>
        <translation>有些本地模型会把工具调用写进回答。如果没有其他调用，它就算作调用。</translation>
    </message>
    <message>
        <source>Sound of notifications</source>
        <translation>通知声音</translation>
    </message>
    <message>
        <source>Spending</source>
        <translation>支出</translation>
    </message>
    <message>
        <source>Start the servers that are defined, and let the model call their tools.</source>
        <translation>启动已定义的服务器，并让模型调用其工具。</translation>
    </message>
    <message>
        <source>Stop at the first failure</source>
        <translation>首次失败即停止</translation>
    </message>
    <message>
        <source>Sub-agents</source>
        <translation>子代理</translation>
    </message>
    <message>
        <source>Summarise automatically</source>
        <translation>自动总结</translation>
    </message>
    <message>
        <source>Summarise the older part of a conversation when it exceeds the target.</source>
        <translation>对话超过目标大小时，总结其较早的部分。</translation>
    </message>
    <message>
        <source>Telemetry</source>
        <translation>遥测</translation>
    </message>
    <message>
        <source>Telemetry file</source>
        <translation>遥测文件</translation>
    </message>
    <message>
        <source>Offer the skills of your home folder, and those of this folder once you trust it, to the model and as slash commands.</source>
        <translation>将您主文件夹中的技能，以及您信任后此文件夹中的技能，提供给模型并作为斜杠命令提供。</translation>
    </message>
    <message>
        <source>The address of the latest release, as GitHub and Forgejo offer it: `https://…/releases/latest`. The window asks it once a day, tells you of a newer version, and installs nothing. Without an address, it asks nobody.</source>
        <translation>最新版本的地址，与 GitHub 和 Forgejo 提供的一致：`https://…/releases/latest`。窗口每天查询一次，有新版本时告诉您，不会安装任何内容。没有地址时不查询任何人。</translation>
    </message>
    <message>
        <source>Hooks to switch off, by their digests.</source>
        <translation>要关闭的钩子的摘要值。</translation>
    </message>
    <message>
        <source>The keys for this action, in the whole window.</source>
        <translation>此操作在整个窗口中的按键。</translation>
    </message>
    <message>
        <source>The keys for this action, in this part of the window.</source>
        <translation>此操作在窗口这一部分中的按键。</translation>
    </message>
    <message>
        <source>The keys of each action of the window, such as `Ctrl+Shift+F`, or `Ctrl+K Ctrl+S` for two pressed one after the other. An empty list means no keys. If your keys are another action&apos;s defaults, yours win.</source>
        <translation>窗口中每个操作的按键，写作 `Ctrl+Shift+F`；依次按下的写作 `Ctrl+K Ctrl+S`。空列表表示没有按键。两个操作使用相同按键时，由您指定的那个拥有它。</translation>
    </message>
    <message>
        <source>The keys of this part of the window, where they take precedence over those that work everywhere.</source>
        <translation>窗口这一部分的按键，在其中优先于各处通用的按键。</translation>
    </message>
    <message>
        <source>The model, as PROVIDER/NAME, that answers a request when the usual one is still overloaded after all retries. The conversation says so; the next request goes to the usual one again.</source>
        <translation>默认模型在所有尝试后仍过载时，由此模型回答请求，写作 PROVIDER/NAME。对话中会说明；下一次请求仍发给默认模型。</translation>
    </message>
    <message>
        <source>The model&apos;s name at its provider.</source>
        <translation>模型的名称，以提供商的叫法为准。</translation>
    </message>
    <message>
        <source>Also export prompts, answers, and the arguments and results of calls: the beginning of each, without anything that looks like a key. Anyone who can read the receiver&apos;s data can then read the conversation.</source>
        <translation>同时导出消息、回答以及调用的输入和返回：各取开头部分，去除看似密钥的内容。能读取接收端的人因此能读到对话。</translation>
    </message>
    <message>
        <source>Animations</source>
        <translation>动画</translation>
    </message>
    <message>
        <source>As soon as they arrive, instead of only after Review… on their card in the conversation.</source>
        <translation>问题一出现就打开，而不是通过对话中卡片上的“查看…”。</translation>
    </message>
    <message>
        <source>Before display scaling.</source>
        <translation>屏幕缩放之前。</translation>
    </message>
    <message>
        <source>Beginnings of commands that never run, such as `shutdown` or `git push`, also behind wrappers and inside pipes.</source>
        <translation>任何命令都不得以此开头，如 `shutdown` 或 `git push`，包括在包装命令之后和管道中。</translation>
    </message>
    <message>
        <source>Blinking carets, pulsing marks, sliding docks and menus. Nothing is conveyed by animation alone.</source>
        <translation>闪烁的光标、跳动的标记、滑动的面板和菜单。没有任何信息只靠动画来表达。</translation>
    </message>
    <message>
        <source>Files in a safety copy</source>
        <translation>安全副本的文件数</translation>
    </message>
    <message>
        <source>For names, lists, buttons and menus, before display scaling.</source>
        <translation>名称、列表、按钮和菜单的大小，在屏幕缩放之前。</translation>
    </message>
    <message>
        <source>How commands are confined. Without a sandbox, nothing confines them, and every command asks first.</source>
        <translation>用什么限制命令。没有沙盒就没有限制，每个命令都会询问。</translation>
    </message>
    <message>
        <source>How many files each process of a command may have open at once. The system enforces this limit.</source>
        <translation>命令的每个进程同时最多打开多少文件。系统不会给予更多。</translation>
    </message>
    <message>
        <source>How many processes a command may have at once, including those that they start. A command with more, or with four times as many threads, is stopped.</source>
        <translation>命令及其启动的所有进程同时最多有多少个。超过此数，或线程数超过其四倍时会被停止。</translation>
    </message>
    <message>
        <source>How much memory all processes of a command may hold together. A command that holds more is stopped.</source>
        <translation>命令的所有进程合计最多占用多少内存。超过时会被停止。</translation>
    </message>
    <message>
        <source>If the definitions of these tools would take more of the model&apos;s context window than this, the model gets a tool search instead, and the tools that it finds. 0 always uses the search, 100 never does.</source>
        <translation>当工具定义占用的上下文窗口超过此值时，改为向模型提供工具搜索及其找到的工具。0 表示始终使用搜索，100 表示从不。</translation>
    </message>
    <message>
        <source>Instead of green and red, for people who cannot tell these apart.</source>
        <translation>代替绿色和红色，适合难以区分它们的人。</translation>
    </message>
    <message>
        <source>Light or dark, with more contrast for people who need it. A contrast setting of the system applies, too.</source>
        <translation>浅色或深色；需要时可选更高的对比度。系统也可以要求高对比度。</translation>
    </message>
    <message>
        <source>Scan time limit</source>
        <translation>扫描时限</translation>
    </message>
    <message>
        <source>Room for server tools</source>
        <translation>服务器工具的空间</translation>
    </message>
    <message>
        <source>Same as system</source>
        <translation>跟随系统</translation>
    </message>
    <message>
        <source>Show questions in a dialog</source>
        <translation>在对话框中打开问题</translation>
    </message>
    <message>
        <source>Size of a safety copy</source>
        <translation>安全副本的大小</translation>
    </message>
    <message>
        <source>Target size</source>
        <translation>目标</translation>
    </message>
    <message>
        <source>The address that spans and metrics are sent to, as OTLP over HTTP, such as `http://localhost:4318`. They say what turns, requests and calls there were, and how long they took. Without an address or a file, there is no telemetry.</source>
        <translation>以 OTLP over HTTP 发送跨度和指标的目的地，如 `http://localhost:4318`：轮次、请求和调用的用时及内容。既无接收端也无文件时，不发送任何内容。</translation>
    </message>
    <message>
        <source>The largest file that is copied.</source>
        <translation>会保留副本的最大文件。</translation>
    </message>
    <message>
        <source>The look of the window, and its notifications.</source>
        <translation>窗口的外观和通知。</translation>
    </message>
    <message>
        <source>The model&apos;s provider</source>
        <translation>模型的提供商</translation>
    </message>
    <message>
        <source>The most that is copied. Files unchanged in git need no copy.</source>
        <translation>最多保留多少内容的副本。git 中未更改的内容不需要副本。</translation>
    </message>
    <message>
        <source>The only tools available to a run.</source>
        <translation>运行仅有的工具。</translation>
    </message>
    <message>
        <source>The provider whose model answers. The demo follows a script and needs neither a key nor a network.</source>
        <translation>由谁的模型回答。演示按脚本进行，不需要密钥和网络。</translation>
    </message>
    <message>
        <source>The same limit in bytes. The smaller of the two applies.</source>
        <translation>以字节计的同一限制；以较小者为准。</translation>
    </message>
    <message>
        <source>The size above which a conversation is summarised.</source>
        <translation>对话达到此大小时开始总结。</translation>
    </message>
    <message>
        <source>Theme</source>
        <translation>主题</translation>
    </message>
    <message>
        <source>This program</source>
        <translation>本程序</translation>
    </message>
    <message>
        <source>Tokens of a result</source>
        <translation>结果的 token 数</translation>
    </message>
    <message>
        <source>Tool results</source>
        <translation>工具结果</translation>
    </message>
    <message>
        <source>Tools that are not available to a run.</source>
        <translation>运行不具备的工具。</translation>
    </message>
    <message>
        <source>Tools that other programs offer.</source>
        <translation>其他程序提供的工具。</translation>
    </message>
    <message>
        <source>Who searches the web. This program asks before each search. A provider searches while its model answers, without asking: it sends the search terms to the web, and charges for each search. If the provider has no search, this program&apos;s is used.</source>
        <translation>由谁搜索网络。本程序每次搜索前都会询问。提供商在其模型回答时直接搜索，不作询问：模型的搜索内容从那里发往网络，每次搜索都会计费。提供商没有搜索时，使用本程序的搜索。</translation>
    </message>
    <message>
        <source>set by each call</source>
        <translation>由每次调用决定</translation>
    </message>
    <message>
        <source>US dollars</source>
        <translation>美元</translation>
    </message>
    <message>
        <source>Agents that carry out parts of the agent&apos;s work.</source>
        <translation>执行代理部分工作的代理。</translation>
    </message>
    <message>
        <source>The most requests that a sub-agent may send to the model, unless its role says how many.</source>
        <translation>子代理最多可以向模型发送的请求数，除非其角色另有规定。</translation>
    </message>
    <message>
        <source>Language servers to switch off, by name.</source>
        <translation>要关闭的语言服务器的名称。</translation>
    </message>
    <message>
        <source>Plugins to switch off, by name.</source>
        <translation>要关闭的插件的名称。</translation>
    </message>
    <message>
        <source>Skills to switch off, by name. They are offered neither to the model nor as slash commands.</source>
        <translation>要关闭的技能的名称。它们既不提供给模型，也不作为斜杠命令提供。</translation>
    </message>
    <message>
        <source>Reported to the model</source>
        <translation>向模型报告</translation>
    </message>
    <message>
        <source>Underline misspelled words</source>
        <translation>为拼写错误的单词加下划线</translation>
    </message>
    <message>
        <source>Use MCP servers</source>
        <translation>使用 MCP 服务器</translation>
    </message>
    <message>
        <source>Use language servers</source>
        <translation>使用语言服务器</translation>
    </message>
    <message>
        <source>Use plugins</source>
        <translation>使用插件</translation>
    </message>
    <message>
        <source>Use skills</source>
        <translation>使用技能</translation>
    </message>
    <message>
        <source>Use the skills, commands, sub-agents, hooks and MCP servers of the plugins that you added, and of those that a trusted project brings.</source>
        <translation>使用您添加的插件以及受信任项目带来的插件中的技能、命令、子代理、钩子和 MCP 服务器。</translation>
    </message>
    <message>
        <source>Variables passed on</source>
        <translation>传递的变量</translation>
    </message>
    <message>
        <source>Visible in the home folder</source>
        <translation>主目录中可见</translation>
    </message>
    <message>
        <source>Watched files</source>
        <translation>监视的文件数</translation>
    </message>
    <message>
        <source>Web search</source>
        <translation>网络搜索</translation>
    </message>
    <message>
        <source>What a conversation may cost before the agent asks whether to go on. Only known costs count.</source>
        <translation>一次对话花费多少后，代理会询问是否继续。只计算已知费用。</translation>
    </message>
    <message>
        <source>What all conversations of a day (UTC) may cost together before the agent asks whether to go on.</source>
        <translation>一天 (UTC) 内所有对话合计花费多少后，代理会询问是否继续。</translation>
    </message>
    <message>
        <source>What is watched for changes while a command runs, and so can be undone.</source>
        <translation>命令运行时监视哪些内容的更改，从而可以撤销。</translation>
    </message>
    <message>
        <source>What may be spent before the agent asks. Without a window, the agent stops instead.</source>
        <translation>代理在询问之前可以花费多少。没有窗口时，它会改为停止。</translation>
    </message>
    <message>
        <source>What the model gets of AGENTS.md, CLAUDE.md and the like.</source>
        <translation>模型会收到 AGENTS.md、CLAUDE.md 等文件中的哪些内容。</translation>
    </message>
    <message>
        <source>Which of the new problems in these files are reported to the model.</source>
        <translation>向模型报告这些文件中的哪些新问题。</translation>
    </message>
    <message>
        <source>When a conversation is summarised, so that it still fits the model.</source>
        <translation>何时总结对话，使其仍适合模型。</translation>
    </message>
    <message>
        <source>Which model answers, and how much it thinks.</source>
        <translation>由谁回答，回答多少。</translation>
    </message>
    <message>
        <source>Who sends them. The SDK takes a second longer to start. For clouds and profiles it is always used.</source>
        <translation>由谁发送。SDK 启动要多一秒。云和配置文件始终使用它。</translation>
    </message>
    <message>
        <source>With a line `Assisted-by:` at the end of the message. The sheet of a commit has a tick for it, too.</source>
        <translation>在说明末尾添加一行 `Assisted-by:`。提交窗口中也有对应的勾选框。</translation>
    </message>
    <message>
        <source>Your commands that run at certain events of a session. They run outside the sandbox, as you do.</source>
        <translation>在会话的特定时刻运行的您的命令。它们在沙盒之外以您的身份运行。</translation>
    </message>
    <message>
        <source>all</source>
        <translation>全部</translation>
    </message>
    <message>
        <source>files</source>
        <translation>个文件</translation>
    </message>
    <message>
        <source>levels</source>
        <translation>层</translation>
    </message>
    <message>
        <source>lines</source>
        <translation>行</translation>
    </message>
    <message>
        <source>llama.cpp</source>
        <translation>llama.cpp</translation>
    </message>
    <message>
        <source>no keys</source>
        <translation>无按键</translation>
    </message>
    <message>
        <source>no limit</source>
        <translation>无限制</translation>
    </message>
    <message>
        <source>none</source>
        <translation>无</translation>
    </message>
    <message>
        <source>nothing</source>
        <translation>无</translation>
    </message>
    <message>
        <source>off</source>
        <translation>关</translation>
    </message>
    <message>
        <source>on</source>
        <translation>开</translation>
    </message>
    <message>
        <source>pixels</source>
        <translation>像素</translation>
    </message>
    <message>
        <source>processes</source>
        <translation>个进程</translation>
    </message>
    <message>
        <source>requests</source>
        <translation>次请求</translation>
    </message>
    <message>
        <source>seconds</source>
        <translation>秒</translation>
    </message>
    <message>
        <source>sub-agents</source>
        <translation>个子代理</translation>
    </message>
    <message>
        <source>the model&apos;s own</source>
        <translation>模型自己的</translation>
    </message>
    <message>
        <source>the provider&apos;s own</source>
        <translation>提供商自己的</translation>
    </message>
    <message>
        <source>the request fails</source>
        <translation>请求失败</translation>
    </message>
    <message>
        <source>the default one</source>
        <translation>默认账户</translation>
    </message>
    <message>
        <source>three quarters of the machine&apos;s memory</source>
        <translation>本机内存的四分之三</translation>
    </message>
    <message>
        <source>tokens</source>
        <translation>token</translation>
    </message>
    <message>
        <source>turns</source>
        <translation>轮</translation>
    </message>
    <message>
        <source>xAI</source>
        <translation>xAI</translation>
    </message>
    <message>
        <source>简体中文</source>
        <translation>简体中文</translation>
    </message>
</context>
<context>
    <name>SettingsController</name>
    <message>
        <source>Some of your settings cannot be used. The previous values apply.</source>
        <translation>部分设置无法使用，仍采用之前的值。</translation>
    </message>
    <message>
        <source>Some of your settings cannot be used. Their defaults apply.</source>
        <translation>部分设置无法使用，已采用其默认值。</translation>
    </message>
</context>
<context>
    <name>SettingsDialog</name>
    <message>
        <source>Search settings</source>
        <translation>搜索设置</translation>
    </message>
    <message>
        <source>Sections</source>
        <translation>分区</translation>
    </message>
    <message>
        <source>Settings</source>
        <translation>设置</translation>
    </message>
</context>
<context>
    <name>SettingsFoot</name>
    <message>
        <source>Changes apply and are saved at once.</source>
        <translation>更改会立即生效并保存。</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>Open the settings file</source>
        <translation>打开设置文件</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>撤销</translation>
    </message>
    <message>
        <source>{0}: saved, but the environment variable {1} overrides the file.</source>
        <translation>{0}：已保存，但环境变量 {1} 优先于文件。</translation>
    </message>
</context>
<context>
    <name>SettingsSections</name>
    <message>
        <source>Appearance</source>
        <translation>外观</translation>
    </message>
    <message>
        <source>Approvals</source>
        <translation>审批</translation>
    </message>
    <message>
        <source>Changes made by commands</source>
        <translation>命令的更改</translation>
    </message>
    <message>
        <source>Command line</source>
        <translation>命令行</translation>
    </message>
    <message>
        <source>Hooks</source>
        <translation>钩子</translation>
    </message>
    <message>
        <source>Keyboard</source>
        <translation>键盘</translation>
    </message>
    <message>
        <source>Language servers</source>
        <translation>语言服务器</translation>
    </message>
    <message>
        <source>Long conversations</source>
        <translation>长对话</translation>
    </message>
    <message>
        <source>MCP servers</source>
        <translation>MCP 服务器</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>Other agents</source>
        <translation>其他代理</translation>
    </message>
    <message>
        <source>Plugins</source>
        <translation>插件</translation>
    </message>
    <message>
        <source>Project</source>
        <translation>项目</translation>
    </message>
    <message>
        <source>Rules</source>
        <translation>规则</translation>
    </message>
    <message>
        <source>Skills</source>
        <translation>技能</translation>
    </message>
    <message>
        <source>Spending</source>
        <translation>支出</translation>
    </message>
    <message>
        <source>Telemetry</source>
        <translation>遥测</translation>
    </message>
    <message>
        <source>Tool results</source>
        <translation>工具结果</translation>
    </message>
</context>
<context>
    <name>ShortcutField</name>
    <message>
        <source>Press the keys</source>
        <translation>请按下按键</translation>
    </message>
</context>
<context>
    <name>ShortcutRecorder</name>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Assign</source>
        <translation>分配</translation>
    </message>
    <message>
        <source>Enter assigns the keys, Esc changes nothing.</source>
        <translation>按 Enter 使用，按 Esc 保持不变。</translation>
    </message>
    <message>
        <source>More keys for “{0}”</source>
        <translation>为“{0}”添加按键</translation>
    </message>
    <message>
        <source>New keys for “{0}”</source>
        <translation>“{0}”的新按键</translation>
    </message>
    <message>
        <source>Press the key that follows {0}.</source>
        <translation>请按下 {0} 之后的按键。</translation>
    </message>
    <message>
        <source>Reassign</source>
        <translation>改为分配到这里</translation>
    </message>
    <message>
        <source>{0} begins with {1}, and “{2}” would lose that shortcut.</source>
        <translation>{0} 以 {1} 开头，而后者属于“{2}”，将从其移除。</translation>
    </message>
    <message>
        <source>{0} has another action in one part of the window, where that action takes precedence: {1}.</source>
        <translation>{0} 在窗口的某一部分另有作用，在那里优先：{1}。</translation>
    </message>
    <message>
        <source>{0} has another action in text fields, where that action takes precedence.</source>
        <translation>{0} 在您输入文字的地方另有作用，在那里优先。</translation>
    </message>
    <message>
        <source>{0} has another action in the whole window: {1}. In this part of the window, the new action takes precedence.</source>
        <translation>{0} 在其他各处另有作用：{1}。在窗口的这一部分中，此项优先。</translation>
    </message>
    <message>
        <source>“{1}” would lose {0}, which begins with {2}.</source>
        <translation>“{1}”的 {0} 以 {2} 开头，将从其移除。</translation>
    </message>
    <message>
        <source>Then another key…</source>
        <translation>再按一个键…</translation>
    </message>
    <message>
        <source>{0} answers the agent&apos;s questions, so it cannot send a message.</source>
        <translation>{0} 用于回答代理的问题，发送消息的按键不能这样做。</translation>
    </message>
    <message>
        <source>{0} belongs to “{1}”, which would lose it.</source>
        <translation>{0} 属于“{1}”，后者将不再拥有它。</translation>
    </message>
    <message>
        <source>{0} is free.</source>
        <translation>{0} 未被占用。</translation>
    </message>
    <message>
        <source>{0} is used for writing. Hold Ctrl, Alt or Meta with it, or take a function key.</source>
        <translation>{0} 用于输入文字。请同时按住 Ctrl、Alt 或 Meta，或使用功能键。</translation>
    </message>
</context>
<context>
    <name>SignInBar</name>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Dismiss</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>重试</translation>
    </message>
</context>
<context>
    <name>SignInPanel</name>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Check</source>
        <translation>检查</translation>
    </message>
    <message>
        <source>Check the sign-in</source>
        <translation>检查登录</translation>
    </message>
    <message>
        <source>Sign in again…</source>
        <translation>重新登录…</translation>
    </message>
    <message>
        <source>Sign in with ChatGPT…</source>
        <translation>用 ChatGPT 登录…</translation>
    </message>
    <message>
        <source>Sign in with OpenRouter…</source>
        <translation>用 OpenRouter 登录…</translation>
    </message>
    <message>
        <source>Sign-in</source>
        <translation>登录</translation>
    </message>
    <message>
        <source>Use a profile of Anthropic&apos;s tools</source>
        <translation>使用 Anthropic 工具的配置文件</translation>
    </message>
</context>
<context>
    <name>SignInWait</name>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Cancel the sign-in with {0}</source>
        <translation>取消登录 {0}</translation>
    </message>
    <message>
        <source>Preparing the sign-in…</source>
        <translation>正在准备登录…</translation>
    </message>
</context>
<context>
    <name>SpellingMarks</name>
    <message>
        <source>Add {word} to the dictionary</source>
        <translation>将{word}添加到词典</translation>
    </message>
    <message>
        <source>No suggestions</source>
        <translation>没有建议</translation>
    </message>
</context>
<context>
    <name>SpendingCard</name>
    <message>
        <source>Go on</source>
        <translation>继续</translation>
    </message>
    <message>
        <source>Stop here</source>
        <translation>到此停止</translation>
    </message>
</context>
<context>
    <name>SubagentBody</name>
    <message>
        <source>Show its conversation</source>
        <translation>显示其对话</translation>
    </message>
</context>
<context>
    <name>SubscriptionStep</name>
    <message>
        <source>A Claude subscription cannot be used here: Anthropic does not permit other applications to sign in with one. Use an API key, or a profile of Anthropic&apos;s own tools (`ant auth login`).</source>
        <translation>此处无法使用 Claude 订阅：Anthropic 不允许其他应用用它登录。请使用 API 密钥，或 Anthropic 自己工具的配置文件 (`ant auth login`)。</translation>
    </message>
    <message>
        <source>Anthropic profile “{0}”</source>
        <translation>Anthropic 配置文件“{0}”</translation>
    </message>
    <message>
        <source>Providers allow other programs to use it only in these ways.</source>
        <translation>提供商只允许其他程序以这些方式使用订阅。</translation>
    </message>
    <message>
        <source>Sign in with ChatGPT</source>
        <translation>用 ChatGPT 登录</translation>
    </message>
    <message>
        <source>Sign in…</source>
        <translation>登录…</translation>
    </message>
    <message>
        <source>Use a subscription</source>
        <translation>使用订阅</translation>
    </message>
    <message>
        <source>Use this profile</source>
        <translation>使用此配置文件</translation>
    </message>
    <message>
        <source>Your browser opens OpenAI&apos;s page, where you allow this application to use your plan.</source>
        <translation>浏览器将打开 OpenAI 的页面，您可在那里允许此应用使用您的套餐。</translation>
    </message>
    <message>
        <source>Your organisation&apos;s API access, through the sign-in of Anthropic&apos;s own tools.</source>
        <translation>您组织的 API 访问权限，由 Anthropic 自己的工具登录。</translation>
    </message>
</context>
<context>
    <name>TableControl</name>
    <message>
        <source>Left out: {0}.</source>
        <translation>已略过：{0}。</translation>
    </message>
</context>
<context>
    <name>Terminal</name>
    <message>
        <source>Ended with code {0}.</source>
        <translation>已结束，代码 {0}。</translation>
    </message>
    <message>
        <source>Ended.</source>
        <translation>已结束。</translation>
    </message>
    <message>
        <source>The shell could not be started: {0}. Set SHELL to one that works, and start again.</source>
        <translation>无法启动 shell：{0}。请将 SHELL 设为可用的 shell，然后重新启动。</translation>
    </message>
    <message>
        <source>There is no terminal on Windows yet. Use one of your own.</source>
        <translation>Windows 上尚无终端。请使用您自己的终端。</translation>
    </message>
</context>
<context>
    <name>TerminalBody</name>
    <message>
        <source>Show all output</source>
        <translation>显示全部输出</translation>
    </message>
    <message>
        <source>… earlier output</source>
        <translation>…更早的输出</translation>
    </message>
</context>
<context>
    <name>TerminalDock</name>
    <message>
        <source>Terminal</source>
        <translation>终端</translation>
    </message>
</context>
<context>
    <name>TerminalPanel</name>
    <message>
        <source>Attach output</source>
        <translation>附加输出</translation>
    </message>
    <message>
        <source>Attach what is selected, or the last lines, to the message</source>
        <translation>将所选内容或最后几行附加到消息</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>复制</translation>
    </message>
    <message>
        <source>Do not paste</source>
        <translation>不粘贴</translation>
    </message>
    <message>
        <source>Find in the terminal</source>
        <translation>在终端中查找</translation>
    </message>
    <message>
        <source>Find…</source>
        <translation>查找…</translation>
    </message>
    <message>
        <source>Hide the terminal</source>
        <translation>隐藏终端</translation>
    </message>
    <message>
        <source>Hide. Running programs continue.</source>
        <translation>隐藏。其中运行的程序会继续。</translation>
    </message>
    <message>
        <source>The pasted text contains invisible characters; control characters are left out.</source>
        <translation>粘贴的文本含有看不见的字符；控制字符会被去掉。</translation>
    </message>
    <message>
        <source>Open the address</source>
        <translation>打开网址</translation>
    </message>
    <message>
        <source>Open the file</source>
        <translation>打开文件</translation>
    </message>
    <message>
        <source>Paste</source>
        <translation>粘贴</translation>
    </message>
    <message>
        <source>Select all</source>
        <translation>全选</translation>
    </message>
    <message>
        <source>Start again</source>
        <translation>重新启动</translation>
    </message>
    <message>
        <source>Terminal</source>
        <translation>终端</translation>
    </message>
    <message>
        <source>Text to paste</source>
        <translation>要粘贴的文本</translation>
    </message>
</context>
<context>
    <name>TerminalView</name>
    <message>
        <source>Terminal</source>
        <translation>终端</translation>
    </message>
</context>
<context>
    <name>TextPage</name>
    <message numerus="yes">
        <source>%n lines</source>
        <translation>
            <numerusform>%n 行</numerusform>
        </translation>
    </message>
    <message>
        <source>Find in this file</source>
        <translation>在此文件中查找</translation>
    </message>
    <message>
        <source>Line {0}, column {1}</source>
        <translation>第 {0} 行，第 {1} 列</translation>
    </message>
    <message>
        <source>Text of {0}</source>
        <translation>{0} 的文本</translation>
    </message>
    <message>
        <source>Too long to be edited here</source>
        <translation>过长，无法在此编辑</translation>
    </message>
</context>
<context>
    <name>TextWidget</name>
    <message>
        <source>Answer in progress</source>
        <translation>回答，正在书写</translation>
    </message>
    <message>
        <source>Answer: {text}</source>
        <translation>回答：{text}</translation>
    </message>
    <message>
        <source>Ask again, in a copy from before this turn</source>
        <translation>在此轮之前的副本中重新提问</translation>
    </message>
    <message>
        <source>Copied</source>
        <translation>已复制</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>复制</translation>
    </message>
    <message>
        <source>Copy the answer</source>
        <translation>复制回答</translation>
    </message>
    <message>
        <source>Quote</source>
        <translation>引用</translation>
    </message>
    <message>
        <source>Quote the answer in your message</source>
        <translation>在您的消息中引用回答</translation>
    </message>
    <message>
        <source>Retry</source>
        <translation>重新提问</translation>
    </message>
</context>
<context>
    <name>TextsControl</name>
    <message>
        <source>Add</source>
        <translation>添加</translation>
    </message>
    <message>
        <source>Add a folder</source>
        <translation>添加文件夹</translation>
    </message>
    <message>
        <source>Add an entry</source>
        <translation>添加条目</translation>
    </message>
    <message>
        <source>Add to {0}</source>
        <translation>添加到 {0}</translation>
    </message>
    <message>
        <source>Choose a folder for {0}</source>
        <translation>为 {0} 选择文件夹</translation>
    </message>
    <message>
        <source>Choose…</source>
        <translation>选择…</translation>
    </message>
    <message>
        <source>New entry for {0}</source>
        <translation>{0} 的新条目</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>移除</translation>
    </message>
    <message>
        <source>Remove from {0}</source>
        <translation>从 {0} 移除</translation>
    </message>
</context>
<context>
    <name>ThinkingWidget</name>
    <message>
        <source>Thinking…</source>
        <translation>正在思考…</translation>
    </message>
    <message>
        <source>Thought</source>
        <translation>已思考</translation>
    </message>
</context>
<context>
    <name>TodoPanel</name>
    <message>
        <source>All steps are done</source>
        <translation>所有步骤均已完成</translation>
    </message>
    <message>
        <source>Hide the plan</source>
        <translation>隐藏计划</translation>
    </message>
    <message>
        <source>Hide the plan until it changes</source>
        <translation>隐藏计划，直到它发生变化</translation>
    </message>
    <message>
        <source>Hide the steps</source>
        <translation>隐藏步骤</translation>
    </message>
    <message>
        <source>Open plan</source>
        <translation>打开计划</translation>
    </message>
    <message>
        <source>Plan</source>
        <translation>计划</translation>
    </message>
    <message>
        <source>Plan, {0}</source>
        <translation>计划，{0}</translation>
    </message>
    <message>
        <source>Show all steps</source>
        <translation>显示所有步骤</translation>
    </message>
</context>
<context>
    <name>ToolBody</name>
    <message>
        <source>Show all output</source>
        <translation>显示全部输出</translation>
    </message>
</context>
<context>
    <name>ToolRow</name>
    <message numerus="yes">
        <source>%n tokens</source>
        <translation>
            <numerusform>%n 个 token</numerusform>
        </translation>
    </message>
    <message>
        <source>Use the tool {0}</source>
        <translation>使用工具 {0}</translation>
    </message>
</context>
<context>
    <name>TopBar</name>
    <message>
        <source>A scripted model answers. Tools, changes and undo are real.</source>
        <translation>由按脚本运行的模型回答。工具、更改和撤销都是真实的。</translation>
    </message>
    <message>
        <source>Background work, {0} running</source>
        <translation>后台工作，{0} 个运行中</translation>
    </message>
    <message>
        <source>Branch {0}</source>
        <translation>分支 {0}</translation>
    </message>
    <message>
        <source>Choose a folder</source>
        <translation>选择文件夹</translation>
    </message>
    <message>
        <source>Command palette</source>
        <translation>命令面板</translation>
    </message>
    <message>
        <source>Commands</source>
        <translation>命令</translation>
    </message>
    <message>
        <source>Demo</source>
        <translation>演示</translation>
    </message>
    <message>
        <source>Menu</source>
        <translation>菜单</translation>
    </message>
    <message>
        <source>New session</source>
        <translation>新会话</translation>
    </message>
    <message>
        <source>Nothing is open yet</source>
        <translation>尚未打开任何内容</translation>
    </message>
    <message>
        <source>Review</source>
        <translation>审阅</translation>
    </message>
    <message>
        <source>Search</source>
        <translation>搜索</translation>
    </message>
    <message>
        <source>Search all sessions</source>
        <translation>搜索所有会话</translation>
    </message>
    <message>
        <source>Settings and more</source>
        <translation>设置及更多</translation>
    </message>
    <message>
        <source>This session works in the worktree {0}.
The files in {1} stay as they are.</source>
        <translation>此会话在工作树 {0} 中工作。
{1} 中的文件保持不变。</translation>
    </message>
    <message>
        <source>Workspace folder: {0}</source>
        <translation>工作区文件夹：{0}</translation>
    </message>
    <message>
        <source>Worktree</source>
        <translation>工作树</translation>
    </message>
</context>
<context>
    <name>Transcript</name>
    <message numerus="yes">
        <source>%n branches</source>
        <translation>
            <numerusform>%n 个分支</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n bytes</source>
        <translation>
            <numerusform>%n 字节</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n changes</source>
        <translation>
            <numerusform>%n 处更改</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n changes left out</source>
        <translation>
            <numerusform>%n 处更改未包含</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n characters</source>
        <translation>
            <numerusform>%n 个字符</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n entries</source>
        <translation>
            <numerusform>%n 项</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n files</source>
        <translation>
            <numerusform>%n 个文件</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n hooks ran</source>
        <translation>
            <numerusform>运行了 %n 个钩子</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n lines</source>
        <translation>
            <numerusform>%n 行</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n lines continue for another {0}</source>
        <translation>
            <numerusform>%n 行还有 {0}</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n matches</source>
        <translation>
            <numerusform>%n 处匹配</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n model requests</source>
        <translation>
            <numerusform>%n 次模型请求</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n more changed lines</source>
        <translation>
            <numerusform>另有 %n 行更改</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n results</source>
        <translation>
            <numerusform>%n 个结果</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n stash entries</source>
        <translation>
            <numerusform>%n 条贮藏记录</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n tags</source>
        <translation>
            <numerusform>%n 个标签</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n tokens</source>
        <translation>
            <numerusform>%n 个 token</numerusform>
        </translation>
    </message>
    <message>
        <source>A copy of “{title}” before turn {turn}</source>
        <translation>“{title}”第 {turn} 轮之前的副本</translation>
    </message>
    <message>
        <source>A copy of “{title}” up to here</source>
        <translation>“{title}”截至此处的副本</translation>
    </message>
    <message>
        <source>Ask</source>
        <translation>询问</translation>
    </message>
    <message>
        <source>Asked: {reason} · {answer}</source>
        <translation>询问：{reason} · {answer}</translation>
    </message>
    <message>
        <source>Brought back {files}</source>
        <translation>已取回 {files}</translation>
    </message>
    <message>
        <source>Changed by hooks: {files}</source>
        <translation>钩子更改了：{files}</translation>
    </message>
    <message>
        <source>Committed {commit} on {branch}: {subject}</source>
        <translation>已在 {branch} 上提交 {commit}：{subject}</translation>
    </message>
    <message>
        <source>Create</source>
        <translation>创建</translation>
    </message>
    <message>
        <source>Cut off: the application ended while the agent worked</source>
        <translation>已中断：代理工作时应用程序退出</translation>
    </message>
    <message>
        <source>Cut off: the application ended while the agent worked, after at least {time}</source>
        <translation>已中断：代理工作时应用程序退出，至少运行了 {time}</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>删除</translation>
    </message>
    <message>
        <source>Done</source>
        <translation>已完成</translation>
    </message>
    <message>
        <source>Done after {time}</source>
        <translation>已完成，用时 {time}</translation>
    </message>
    <message>
        <source>Edit</source>
        <translation>编辑</translation>
    </message>
    <message>
        <source>Files went back to before turn {turn}. The conversation stayed.</source>
        <translation>文件已回到第 {turn} 轮之前。对话保持不变。</translation>
    </message>
    <message>
        <source>Interrupted</source>
        <translation>已中断</translation>
    </message>
    <message>
        <source>List</source>
        <translation>列出</translation>
    </message>
    <message>
        <source>Look at</source>
        <translation>查看</translation>
    </message>
    <message>
        <source>Modified by you: {command}</source>
        <translation>已由您修改：{command}</translation>
    </message>
    <message>
        <source>Not run: {reason}</source>
        <translation>未运行：{reason}</translation>
    </message>
    <message>
        <source>Nothing was brought back</source>
        <translation>未取回任何内容</translation>
    </message>
    <message>
        <source>Nothing was redone</source>
        <translation>未重做任何内容</translation>
    </message>
    <message>
        <source>Nothing was undone</source>
        <translation>未撤销任何内容</translation>
    </message>
    <message>
        <source>Plan</source>
        <translation>计划</translation>
    </message>
    <message>
        <source>Reached the limit of {requests}. Send a message to continue.</source>
        <translation>已达到 {requests}的上限。发送消息以继续。</translation>
    </message>
    <message>
        <source>Read</source>
        <translation>读取</translation>
    </message>
    <message>
        <source>Redid {files}</source>
        <translation>已重做 {files}</translation>
    </message>
    <message>
        <source>Rename</source>
        <translation>重命名</translation>
    </message>
    <message numerus="yes">
        <source>Review %n more lines…</source>
        <translation>
            <numerusform>审阅其余 %n 行…</numerusform>
        </translation>
    </message>
    <message>
        <source>Run</source>
        <translation>运行</translation>
    </message>
    <message>
        <source>Search</source>
        <translation>搜索</translation>
    </message>
    <message>
        <source>Search the web</source>
        <translation>搜索网络</translation>
    </message>
    <message numerus="yes">
        <source>Shortened %n older results for the agent: about {before} tokens became {after}</source>
        <translation>
            <numerusform>已为代理缩短 %n 个较早的结果：约 {before} 个 token 变为 {after} 个</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>Show %n more</source>
        <translation>
            <numerusform>再显示 %n 项</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>Show %n more lines</source>
        <translation>
            <numerusform>再显示 %n 行</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>Show %n more results</source>
        <translation>
            <numerusform>再显示 %n 个结果</numerusform>
        </translation>
    </message>
    <message>
        <source>Starts</source>
        <translation>正在启动</translation>
    </message>
    <message>
        <source>Stopped because a limit was reached.</source>
        <translation>因达到限制而停止。</translation>
    </message>
    <message>
        <source>Stopped because a tool failed beyond repair.</source>
        <translation>因工具发生无法修复的失败而停止。</translation>
    </message>
    <message>
        <source>Stopped because a tool failed.</source>
        <translation>因工具失败而停止。</translation>
    </message>
    <message>
        <source>Stopped because the folder cannot be used.</source>
        <translation>因文件夹无法使用而停止。</translation>
    </message>
    <message>
        <source>Stopped because the model could not be asked.</source>
        <translation>已停止，因为无法向模型发出请求。</translation>
    </message>
    <message>
        <source>Stopped because the session could not be saved.</source>
        <translation>因无法保存会话而停止。</translation>
    </message>
    <message>
        <source>Stopped by a fault in the application.</source>
        <translation>因应用程序内部错误而停止。</translation>
    </message>
    <message>
        <source>Stopped by a hook.</source>
        <translation>被钩子停止。</translation>
    </message>
    <message>
        <source>Stopped by you after {time}</source>
        <translation>您已停止，用时 {time}</translation>
    </message>
    <message>
        <source>Stopped: an approval was needed and no user could give it.</source>
        <translation>已停止：需要审批，但没有用户可以批准。</translation>
    </message>
    <message>
        <source>Summarised for the agent up to turn {turn}: about {before} tokens became {after}</source>
        <translation>已为代理将截至第 {turn} 轮的内容总结为摘要：约 {before} 个 token 变为 {after} 个</translation>
    </message>
    <message>
        <source>The model declined to answer.</source>
        <translation>模型拒绝回答。</translation>
    </message>
    <message>
        <source>Recovered: everything that the command destroyed is restored.</source>
        <translation>已恢复：被破坏的全部内容都已还原。</translation>
    </message>
    <message>
        <source>Recovered: everything that was copied is restored.</source>
        <translation>已恢复：所有已复制的内容都已还原。</translation>
    </message>
    <message>
        <source>Restored {things}</source>
        <translation>已还原 {things}</translation>
    </message>
    <message>
        <source>Restores {things}</source>
        <translation>恢复 {things}</translation>
    </message>
    <message>
        <source>Started in the background. The list of background work shows it.</source>
        <translation>已在后台启动。后台工作列表会显示它。</translation>
    </message>
    <message>
        <source>The summary was undone: the agent sees the whole conversation again.</source>
        <translation>摘要已撤回：代理再次看到完整对话。</translation>
    </message>
    <message>
        <source>Thinks</source>
        <translation>正在思考</translation>
    </message>
    <message>
        <source>This picture cannot be shown here.</source>
        <translation>此图片无法在此显示。</translation>
    </message>
    <message>
        <source>This picture is damaged and cannot be shown.</source>
        <translation>此图片已损坏，无法显示。</translation>
    </message>
    <message>
        <source>This picture is too large to be shown.</source>
        <translation>此图片过大，无法显示。</translation>
    </message>
    <message>
        <source>Undid the commit {commit}. Its changes are uncommitted again.</source>
        <translation>已撤回提交 {commit}。其更改恢复为未提交。</translation>
    </message>
    <message>
        <source>Undid {files}</source>
        <translation>已撤销 {files}</translation>
    </message>
    <message>
        <source>Went back to before turn {turn}, conversation and files.</source>
        <translation>对话和文件均已回到第 {turn} 轮之前。</translation>
    </message>
    <message>
        <source>Went back to before turn {turn}: the agent no longer sees what came after. Files stayed.</source>
        <translation>已回到第 {turn} 轮之前：代理不再看到之后的内容。文件保持不变。</translation>
    </message>
    <message>
        <source>Withheld from commands: {names}. To pass them on, add them to the setting “Variables passed on”.</source>
        <translation>未传递给命令：{names}。可用设置“传递的变量”传递它们。</translation>
    </message>
    <message>
        <source>You denied it.</source>
        <translation>您已拒绝。</translation>
    </message>
    <message>
        <source>You denied it: {message}</source>
        <translation>您已拒绝：{message}</translation>
    </message>
    <message numerus="yes">
        <source>[%n earlier messages that are not loaded]</source>
        <translation>
            <numerusform>[%n 条更早的消息未加载]</numerusform>
        </translation>
    </message>
    <message>
        <source>allowed from now on: {patterns}</source>
        <translation>今后允许：{patterns}</translation>
    </message>
    <message>
        <source>allowed in this folder</source>
        <translation>在此文件夹中允许</translation>
    </message>
    <message>
        <source>allowed in this session</source>
        <translation>在此会话中允许</translation>
    </message>
    <message>
        <source>allowed it</source>
        <translation>已允许</translation>
    </message>
    <message>
        <source>allowed once</source>
        <translation>允许一次</translation>
    </message>
    <message>
        <source>always allowed</source>
        <translation>始终允许</translation>
    </message>
    <message>
        <source>at the provider</source>
        <translation>在提供商处</translation>
    </message>
    <message>
        <source>cancelled</source>
        <translation>已取消</translation>
    </message>
    <message>
        <source>could not be started</source>
        <translation>无法启动</translation>
    </message>
    <message>
        <source>cut off</source>
        <translation>已中断</translation>
    </message>
    <message>
        <source>denied</source>
        <translation>已拒绝</translation>
    </message>
    <message>
        <source>did not run: it has changed</source>
        <translation>未运行：它已更改</translation>
    </message>
    <message>
        <source>done</source>
        <translation>已完成</translation>
    </message>
    <message>
        <source>exceeded a limit</source>
        <translation>超出限制</translation>
    </message>
    <message>
        <source>exit code {code}</source>
        <translation>退出码 {code}</translation>
    </message>
    <message>
        <source>exit {code}</source>
        <translation>退出码 {code}</translation>
    </message>
    <message>
        <source>failed</source>
        <translation>失败</translation>
    </message>
    <message>
        <source>git&apos;s own files</source>
        <translation>git 自身的文件</translation>
    </message>
    <message>
        <source>held it back</source>
        <translation>已拦下</translation>
    </message>
    <message>
        <source>in progress</source>
        <translation>进行中</translation>
    </message>
    <message>
        <source>no branch</source>
        <translation>无分支</translation>
    </message>
    <message>
        <source>no matches</source>
        <translation>无匹配</translation>
    </message>
    <message>
        <source>not answered</source>
        <translation>未答复</translation>
    </message>
    <message>
        <source>not run</source>
        <translation>未运行</translation>
    </message>
    <message>
        <source>outside the sandbox</source>
        <translation>在沙盒外</translation>
    </message>
    <message>
        <source>printed too much</source>
        <translation>输出过多</translation>
    </message>
    <message>
        <source>ran</source>
        <translation>已运行</translation>
    </message>
    <message>
        <source>refused it</source>
        <translation>已拒绝</translation>
    </message>
    <message>
        <source>running</source>
        <translation>运行中</translation>
    </message>
    <message>
        <source>stopped the turn</source>
        <translation>已停止本轮</translation>
    </message>
    <message>
        <source>the checked-out commit</source>
        <translation>检出的提交</translation>
    </message>
    <message>
        <source>the staged changes</source>
        <translation>已暂存的内容</translation>
    </message>
    <message>
        <source>timed out</source>
        <translation>超时</translation>
    </message>
    <message>
        <source>to do</source>
        <translation>待办</translation>
    </message>
    <message>
        <source>took too long</source>
        <translation>耗时过长</translation>
    </message>
    <message>
        <source>wants you to decide</source>
        <translation>要您决定</translation>
    </message>
    <message>
        <source>was stopped</source>
        <translation>已被停止</translation>
    </message>
    <message>
        <source>{count} more only partly restored</source>
        <translation>另有 {count} 个未能完全恢复</translation>
    </message>
    <message>
        <source>waits for you</source>
        <translation>等待您</translation>
    </message>
    <message>
        <source>{added} added, {removed} removed</source>
        <translation>添加 {added} 行，删除 {removed} 行</translation>
    </message>
    <message>
        <source>{changes} in {path}</source>
        <translation>{path} 中的 {changes}</translation>
    </message>
    <message>
        <source>{count} could not be written</source>
        <translation>{count} 个无法写入</translation>
    </message>
    <message>
        <source>{count} left alone</source>
        <translation>{count} 个保留不动</translation>
    </message>
    <message>
        <source>{count} left alone because turn {turn} changed it</source>
        <translation>{count} 个因第 {turn} 轮更改过而保留不动</translation>
    </message>
    <message>
        <source>{count} left alone because you changed it</source>
        <translation>{count} 个因您已更改而保留不动</translation>
    </message>
    <message>
        <source>{done} of {all}</source>
        <translation>{done}/{all}</translation>
    </message>
    <message>
        <source>{matches} in {files}</source>
        <translation>{files}中有 {matches}</translation>
    </message>
    <message>
        <source>{things} and {last}</source>
        <translation>{things}和 {last}</translation>
    </message>
    <message>
        <source>{what} of turn {turn}</source>
        <translation>{what}（第 {turn} 轮）</translation>
    </message>
    <message numerus="yes">
        <source>… %n lines before</source>
        <translation>
            <numerusform>…前面还有 %n 行</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>… %n more lines</source>
        <translation>
            <numerusform>…还有 %n 行</numerusform>
        </translation>
    </message>
    <message>
        <source>⚠ {path} cannot be undone: {reason}</source>
        <translation>⚠ 无法撤销 {path}：{reason}</translation>
    </message>
</context>
<context>
    <name>TranscriptView</name>
    <message>
        <source>Conversation</source>
        <translation>对话</translation>
    </message>
</context>
<context>
    <name>TrySheet</name>
    <message>
        <source>Add a model</source>
        <translation>添加模型</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Each model works on the same message in its own worktree, from the last commit of {0}. Your files stay as they are until you take something.</source>
        <translation>每个模型都从 {0} 的最后一次提交开始，在各自的工作树中处理同一条消息。在您采用更改之前，您的文件保持不变。</translation>
    </message>
    <message>
        <source>It runs in each worktree once its model is done, confined like the agent&apos;s commands. What it changes is undone.</source>
        <translation>每个模型完成后，它会在该工作树中运行，限制与智能体的命令相同。它所做的更改会被撤销。</translation>
    </message>
    <message>
        <source>Leave this model out</source>
        <translation>移除此模型</translation>
    </message>
    <message>
        <source>Message</source>
        <translation>消息</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>Models</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>Start</source>
        <translation>开始</translation>
    </message>
    <message>
        <source>Test command</source>
        <translation>测试命令</translation>
    </message>
    <message>
        <source>Try with…</source>
        <translation>用多个模型尝试…</translation>
    </message>
</context>
<context>
    <name>UndoBar</name>
    <message numerus="yes">
        <source>%n files</source>
        <translation>
            <numerusform>%n 个文件</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n files were changed but not recorded: they cannot be undone.</source>
        <translation>
            <numerusform>%n 个文件已更改但未记录：无法撤销。</numerusform>
        </translation>
    </message>
    <message>
        <source>Everything is decided</source>
        <translation>全部已决定</translation>
    </message>
    <message>
        <source>Go to the next undecided change</source>
        <translation>转到下一处未决定项</translation>
    </message>
    <message>
        <source>How many of the listed files are kept or undone</source>
        <translation>列出的文件中已保留或已撤销的数量</translation>
    </message>
    <message>
        <source>Files that were changed since are left alone and listed.</source>
        <translation>此后更改过的文件会保留不动并列出。</translation>
    </message>
    <message numerus="yes">
        <source>%n files can be brought back.</source>
        <translation>
            <numerusform>可以取回 %n 个文件。</numerusform>
        </translation>
    </message>
    <message>
        <source>Bring all back</source>
        <translation>全部取回</translation>
    </message>
    <message>
        <source>Bring back…</source>
        <translation>取回…</translation>
    </message>
    <message>
        <source>Commit what you keep with git, and nothing else</source>
        <translation>用 git 仅提交您保留的更改</translation>
    </message>
    <message>
        <source>Commit…</source>
        <translation>提交…</translation>
    </message>
    <message>
        <source>Keep all</source>
        <translation>全部保留</translation>
    </message>
    <message>
        <source>Keep what is undecided in these files</source>
        <translation>保留这些文件中未决定的更改</translation>
    </message>
    <message>
        <source>Keep {0}</source>
        <translation>保留 {0}</translation>
    </message>
    <message>
        <source>Merge what the worktree has into the folder that it was made from</source>
        <translation>把工作树的内容合并到创建它时所用的文件夹</translation>
    </message>
    <message>
        <source>More ways to undo</source>
        <translation>更多撤销方式</translation>
    </message>
    <message>
        <source>Next</source>
        <translation>下一条</translation>
    </message>
    <message>
        <source>Next undecided change</source>
        <translation>下一处未决定的更改</translation>
    </message>
    <message>
        <source>Nothing is left to commit</source>
        <translation>没有可提交的内容</translation>
    </message>
    <message>
        <source>Nothing is left to undo</source>
        <translation>没有可撤销的内容</translation>
    </message>
    <message>
        <source>Nothing to decide</source>
        <translation>没有待决定项</translation>
    </message>
    <message>
        <source>Nothing was brought back yet</source>
        <translation>尚未取回任何内容</translation>
    </message>
    <message>
        <source>Redo</source>
        <translation>重做</translation>
    </message>
    <message numerus="yes">
        <source>Redo the last undo, in %n files. If it conflicts with your later changes, you are asked.</source>
        <translation>
            <numerusform>收回上次撤销（%n 个文件）。您此后的更改会保留，或会询问您。</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>Send %n comments…</source>
        <translation>
            <numerusform>发送 %n 条评论…</numerusform>
        </translation>
    </message>
    <message>
        <source>Take back “{0}” ({1}). The files, and what is staged, stay as they are.</source>
        <translation>撤回“{0}”（{1}）。文件和已暂存的内容保持不变。</translation>
    </message>
    <message numerus="yes">
        <source>The last undo changed %n files.</source>
        <translation>
            <numerusform>上次撤销更改了 %n 个文件。</numerusform>
        </translation>
    </message>
    <message>
        <source>Undo all</source>
        <translation>全部撤销</translation>
    </message>
    <message>
        <source>Undo commit</source>
        <translation>撤回提交</translation>
    </message>
    <message>
        <source>Undo session</source>
        <translation>撤销会话</translation>
    </message>
    <message>
        <source>Undo since</source>
        <translation>撤销此后更改</translation>
    </message>
    <message numerus="yes">
        <source>Undo the changes to %n files. {0}</source>
        <translation>
            <numerusform>还原 %n 个文件。{0}</numerusform>
        </translation>
    </message>
    <message>
        <source>Undo turn</source>
        <translation>撤销本轮</translation>
    </message>
    <message>
        <source>Undo {0}</source>
        <translation>撤销 {0}</translation>
    </message>
    <message>
        <source>{0} of {1} decided</source>
        <translation>已决定 {0}/{1}</translation>
    </message>
    <message>
        <source>{0} was changed but not recorded: it cannot be undone.</source>
        <translation>{0} 已更改但未记录：无法撤销。</translation>
    </message>
    <message>
        <source>{0} with a message to the agent…</source>
        <translation>{0}并给代理留言…</translation>
    </message>
</context>
<context>
    <name>UndoQuestion</name>
    <message numerus="yes">
        <source>%n files</source>
        <translation>
            <numerusform>%n 个文件</numerusform>
        </translation>
    </message>
    <message>
        <source>A running server&apos;s, or yours: {0}</source>
        <translation>正在运行的服务器或您：{0}</translation>
    </message>
    <message>
        <source>Perhaps another session&apos;s: {0}</source>
        <translation>可能是另一个会话：{0}</translation>
    </message>
    <message>
        <source>Redo brings back what is undone.</source>
        <translation>“重做”可恢复被撤销的内容。</translation>
    </message>
    <message>
        <source>The agent&apos;s: {0}</source>
        <translation>代理：{0}</translation>
    </message>
    <message>
        <source>Not all of these changes are the agent&apos;s.</source>
        <translation>这些并非全部是代理所为。</translation>
    </message>
    <message>
        <source>The agent made none of these changes.</source>
        <translation>这些都不是代理所为。</translation>
    </message>
    <message>
        <source>These changes are not only the agent&apos;s.</source>
        <translation>这不只是代理所为。</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>撤销</translation>
    </message>
    <message>
        <source>Undo all of it</source>
        <translation>全部撤销</translation>
    </message>
    <message>
        <source>Undo only the agent&apos;s</source>
        <translation>只撤销代理的</translation>
    </message>
    <message>
        <source>Undo only what is undecided</source>
        <translation>只撤销未决定的</translation>
    </message>
    <message>
        <source>Undo them, too</source>
        <translation>一并撤销</translation>
    </message>
    <message>
        <source>Undo these kept changes, too?</source>
        <translation>您保留的也要撤销吗？</translation>
    </message>
    <message numerus="yes">
        <source>You decided to keep %n changes in {0}.</source>
        <translation>
            <numerusform>您已决定保留 {0} 中的 %n 处更改。</numerusform>
        </translation>
    </message>
    <message>
        <source>Yours: {0}</source>
        <translation>您：{0}</translation>
    </message>
    <message>
        <source>{0} more</source>
        <translation>另外 {0} 个</translation>
    </message>
</context>
<context>
    <name>Usage</name>
    <message>
        <source>Calls</source>
        <translation>调用</translation>
    </message>
    <message>
        <source>Cost</source>
        <translation>费用</translation>
    </message>
    <message>
        <source>Day (UTC)</source>
        <translation>日期 (UTC)</translation>
    </message>
    <message>
        <source>Errors</source>
        <translation>错误</translation>
    </message>
    <message>
        <source>Failed calls</source>
        <translation>失败的调用</translation>
    </message>
    <message>
        <source>Failed turns</source>
        <translation>失败的轮次</translation>
    </message>
    <message>
        <source>Folder</source>
        <translation>文件夹</translation>
    </message>
    <message>
        <source>MMM yyyy</source>
        <translation>yyyy年M月</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>No answer is recorded.</source>
        <translation>没有记录的回答。</translation>
    </message>
    <message>
        <source>No call failed.</source>
        <translation>没有失败的调用。</translation>
    </message>
    <message>
        <source>No call is recorded.</source>
        <translation>没有记录的调用。</translation>
    </message>
    <message>
        <source>No request is recorded.</source>
        <translation>没有记录的请求。</translation>
    </message>
    <message>
        <source>No turn is recorded.</source>
        <translation>没有记录的轮次。</translation>
    </message>
    <message>
        <source>P50 {0}, P95 {1}, P99 {2}, {3} in all, {4} times</source>
        <translation>P50 {0}，P95 {1}，P99 {2}，总计 {3}，{4} 次</translation>
    </message>
    <message>
        <source>Requests</source>
        <translation>请求</translation>
    </message>
    <message>
        <source>Sessions</source>
        <translation>会话</translation>
    </message>
    <message>
        <source>The price of {0} tokens is not known: the cost is higher.</source>
        <translation>{0} 个 token 的价格未知：实际费用更高。</translation>
    </message>
    <message>
        <source>Time</source>
        <translation>时间</translation>
    </message>
    <message>
        <source>Tokens read</source>
        <translation>读取的 token</translation>
    </message>
    <message>
        <source>Tool</source>
        <translation>工具</translation>
    </message>
    <message>
        <source>Total time</source>
        <translation>总用时</translation>
    </message>
    <message>
        <source>Turns</source>
        <translation>轮次</translation>
    </message>
    <message>
        <source>Written</source>
        <translation>写入</translation>
    </message>
    <message>
        <source>cost not known</source>
        <translation>费用未知</translation>
    </message>
    <message>
        <source>d MMM</source>
        <translation>M月d日</translation>
    </message>
    <message>
        <source>d MMM yyyy</source>
        <translation>yyyy年M月d日</translation>
    </message>
    <message>
        <source>ddd d MMM yyyy</source>
        <translation>yyyy年M月d日 ddd</translation>
    </message>
    <message>
        <source>fatal</source>
        <translation>致命</translation>
    </message>
    <message>
        <source>for {0} requests</source>
        <translation>{0} 次请求</translation>
    </message>
    <message>
        <source>in {0}</source>
        <translation>共 {0}</translation>
    </message>
    <message>
        <source>no requests</source>
        <translation>没有请求</translation>
    </message>
    <message>
        <source>not allowed</source>
        <translation>不允许</translation>
    </message>
    <message>
        <source>not found</source>
        <translation>未找到</translation>
    </message>
    <message>
        <source>not known</source>
        <translation>未知</translation>
    </message>
    <message>
        <source>not recorded</source>
        <translation>未记录</translation>
    </message>
    <message>
        <source>other</source>
        <translation>其他</translation>
    </message>
    <message>
        <source>other models</source>
        <translation>其他模型</translation>
    </message>
    <message>
        <source>tokens, {0} written</source>
        <translation>个 token，写入 {0} 个</translation>
    </message>
    <message>
        <source>tool calls</source>
        <translation>工具调用</translation>
    </message>
    <message>
        <source>tool calls, {0} failed ({1})</source>
        <translation>次工具调用，{0} 次失败（{1}）</translation>
    </message>
    <message>
        <source>wrong arguments</source>
        <translation>参数错误</translation>
    </message>
    <message>
        <source>{0} in {1} turns, {2} of them failed</source>
        <translation>{0}，共 {1} 轮，其中 {2} 轮失败</translation>
    </message>
    <message>
        <source>{0} more in the table</source>
        <translation>表中还有 {0} 项</translation>
    </message>
    <message>
        <source>{0} of {1} ({2}): {3}</source>
        <translation>{0}/{1}（{2}）：{3}</translation>
    </message>
    <message>
        <source>{0} of {1}, {2}</source>
        <translation>{0}/{1}，{2}</translation>
    </message>
    <message>
        <source>{0} tokens</source>
        <translation>{0} 个 token</translation>
    </message>
    <message>
        <source>{0} turns, {1} failed</source>
        <translation>{0} 轮，{1} 轮失败</translation>
    </message>
    <message>
        <source>{0}, {1} tokens without a price</source>
        <translation>{0}，{1} 个 token 无价格</translation>
    </message>
    <message>
        <source>{0}; {1} tokens read, {2} written, {3} requests</source>
        <translation>{0}；读取 {1} 个 token，写入 {2} 个，{3} 次请求</translation>
    </message>
    <message>
        <source>● P50, ○ P95</source>
        <translation>● P50，○ P95</translation>
    </message>
</context>
<context>
    <name>UsageDisplay</name>
    <message>
        <source>Not all sessions are counted: reading was stopped.</source>
        <translation>未统计所有会话：读取已停止。</translation>
    </message>
</context>
<context>
    <name>UsagePages</name>
    <message>
        <source>Cost</source>
        <translation>费用</translation>
    </message>
    <message>
        <source>Cost over time</source>
        <translation>费用走势</translation>
    </message>
    <message>
        <source>Failed calls</source>
        <translation>失败的调用</translation>
    </message>
    <message>
        <source>Time for an answer</source>
        <translation>回答用时</translation>
    </message>
    <message>
        <source>Time of a call</source>
        <translation>调用用时</translation>
    </message>
    <message>
        <source>Time of turns</source>
        <translation>轮次用时</translation>
    </message>
    <message>
        <source>Tokens over time</source>
        <translation>token 走势</translation>
    </message>
    <message>
        <source>Usage by day</source>
        <translation>按天的用量</translation>
    </message>
    <message>
        <source>Usage by folder</source>
        <translation>按文件夹的用量</translation>
    </message>
    <message>
        <source>Usage by model</source>
        <translation>按模型的用量</translation>
    </message>
    <message>
        <source>Usage by tool</source>
        <translation>按工具的用量</translation>
    </message>
</context>
<context>
    <name>UsageProgress</name>
    <message>
        <source>Reading progress</source>
        <translation>读取进度</translation>
    </message>
    <message>
        <source>Reading sessions: {0} of {1}</source>
        <translation>正在读取会话：{0}/{1}</translation>
    </message>
    <message>
        <source>Reading sessions…</source>
        <translation>正在读取会话…</translation>
    </message>
    <message>
        <source>Stop reading</source>
        <translation>停止读取</translation>
    </message>
</context>
<context>
    <name>UsageWindow</name>
    <message>
        <source>All days</source>
        <translation>所有日期</translation>
    </message>
    <message>
        <source>By day</source>
        <translation>按天</translation>
    </message>
    <message>
        <source>By folder</source>
        <translation>按文件夹</translation>
    </message>
    <message>
        <source>By model</source>
        <translation>按模型</translation>
    </message>
    <message>
        <source>By tool</source>
        <translation>按工具</translation>
    </message>
    <message>
        <source>Copied {0} rows</source>
        <translation>已复制 {0} 行</translation>
    </message>
    <message>
        <source>Copy as CSV</source>
        <translation>复制为 CSV</translation>
    </message>
    <message numerus="yes">
        <source>Last %n days</source>
        <translation>
            <numerusform>最近 %n 天</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>Nothing is recorded in the last %n days. Choose a longer period to see more.</source>
        <translation>
            <numerusform>最近 %n 天没有记录。选择更长的时间范围以查看更多。</numerusform>
        </translation>
    </message>
    <message>
        <source>Nothing is recorded yet. Ask the agent something, and it is counted here.</source>
        <translation>尚无记录。向代理提问后会在这里统计。</translation>
    </message>
    <message>
        <source>Period</source>
        <translation>时间范围</translation>
    </message>
    <message>
        <source>The table below, with exact figures, for a spreadsheet</source>
        <translation>下方的表格，含精确数字，可用于电子表格</translation>
    </message>
    <message>
        <source>Usage</source>
        <translation>用量</translation>
    </message>
</context>
<context>
    <name>VariableFields</name>
    <message>
        <source>Another variable</source>
        <translation>另一个变量</translation>
    </message>
    <message>
        <source>Name of variable {0}</source>
        <translation>变量 {0} 的名称</translation>
    </message>
    <message>
        <source>Value of variable {0}</source>
        <translation>变量 {0} 的值</translation>
    </message>
    <message>
        <source>Variables</source>
        <translation>变量</translation>
    </message>
    <message>
        <source>Variables that are secrets go to the keyring of your system.</source>
        <translation>机密变量会保存到系统密钥环。</translation>
    </message>
    <message>
        <source>a variable needs a name</source>
        <translation>变量需要名称</translation>
    </message>
</context>
<context>
    <name>VariantColumn</name>
    <message numerus="yes">
        <source>%n files</source>
        <translation>
            <numerusform>%n 个文件</numerusform>
        </translation>
    </message>
    <message>
        <source>Answer</source>
        <translation>回答</translation>
    </message>
    <message>
        <source>Changes of {0}</source>
        <translation>{0} 的更改</translation>
    </message>
    <message>
        <source>Discard</source>
        <translation>放弃</translation>
    </message>
    <message>
        <source>Move its worktree to the trash, where it stays for a month</source>
        <translation>将其工作树移到回收站，保留一个月</translation>
    </message>
    <message>
        <source>No changes</source>
        <translation>没有更改</translation>
    </message>
    <message>
        <source>No changes yet</source>
        <translation>尚无更改</translation>
    </message>
    <message>
        <source>Not tested</source>
        <translation>未测试</translation>
    </message>
    <message>
        <source>Open</source>
        <translation>打开</translation>
    </message>
    <message>
        <source>Run the test command again</source>
        <translation>再次运行测试命令</translation>
    </message>
    <message>
        <source>Show its session</source>
        <translation>显示其会话</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>停止</translation>
    </message>
    <message>
        <source>Stop only this one</source>
        <translation>仅停止此方案</translation>
    </message>
    <message>
        <source>Test again</source>
        <translation>重新测试</translation>
    </message>
    <message>
        <source>Testing…</source>
        <translation>正在测试…</translation>
    </message>
    <message>
        <source>Tests</source>
        <translation>测试</translation>
    </message>
    <message>
        <source>The last message, or what the tests print</source>
        <translation>最后一条消息，或测试的输出</translation>
    </message>
    <message>
        <source>Your folder already has all of its changes.</source>
        <translation>您的文件夹已包含它的全部更改。</translation>
    </message>
    <message>
        <source>✓ passed</source>
        <translation>✓ 通过</translation>
    </message>
    <message>
        <source>✗ failed, code {0}</source>
        <translation>✗ 失败，代码 {0}</translation>
    </message>
</context>
<context>
    <name>VariantControl</name>
    <message numerus="yes">
        <source>%n files are taken and in the review</source>
        <translation>
            <numerusform>已采用 %n 个文件，可在审阅中查看</numerusform>
        </translation>
    </message>
    <message>
        <source>Discarded</source>
        <translation>已放弃</translation>
    </message>
    <message>
        <source>Done</source>
        <translation>已完成</translation>
    </message>
    <message>
        <source>It failed</source>
        <translation>失败</translation>
    </message>
    <message>
        <source>It was interrupted. Open it to go on.</source>
        <translation>已中断。打开它以继续。</translation>
    </message>
    <message>
        <source>Never started, or deleted since</source>
        <translation>从未开始，或之后已删除</translation>
    </message>
    <message>
        <source>Making its worktree…</source>
        <translation>正在创建工作树…</translation>
    </message>
    <message>
        <source>Stopped</source>
        <translation>已停止</translation>
    </message>
    <message>
        <source>Stopped before it began</source>
        <translation>开始前已停止</translation>
    </message>
    <message>
        <source>Testing…</source>
        <translation>正在测试…</translation>
    </message>
    <message>
        <source>Waits for your answer</source>
        <translation>等待您的答复</translation>
    </message>
    <message>
        <source>Working…</source>
        <translation>正在工作…</translation>
    </message>
</context>
<context>
    <name>VariantsWindow</name>
    <message numerus="yes">
        <source>%n changes are ticked</source>
        <translation>
            <numerusform>已勾选 %n 处更改</numerusform>
        </translation>
    </message>
    <message>
        <source>Discard the rest</source>
        <translation>放弃其余</translation>
    </message>
    <message>
        <source>Move the worktrees to the trash, where they stay for a month</source>
        <translation>将工作树移到回收站，保留一个月</translation>
    </message>
    <message>
        <source>Stop all</source>
        <translation>全部停止</translation>
    </message>
    <message>
        <source>Take into the folder</source>
        <translation>采用到文件夹</translation>
    </message>
    <message>
        <source>Tick what you want to take.</source>
        <translation>勾选要采用的内容。</translation>
    </message>
    <message>
        <source>Variants</source>
        <translation>方案</translation>
    </message>
</context>
<context>
    <name>Viewer</name>
    <message>
        <source>Its lines are too long to be shown here: {size}. Open it with its application.</source>
        <translation>行过长，无法在此显示：{size}。请用其应用程序打开。</translation>
    </message>
    <message>
        <source>This file cannot be read: {detail}.</source>
        <translation>无法读取此文件：{detail}。</translation>
    </message>
    <message>
        <source>This file is outside the open folder, so it is not shown.</source>
        <translation>此文件不在打开的文件夹中，因此不显示。</translation>
    </message>
    <message>
        <source>This file is no longer there. It was moved or deleted.</source>
        <translation>此文件已不存在。它已被移动或删除。</translation>
    </message>
    <message>
        <source>This file is not text: {kind}, {size}. Open it with its application.</source>
        <translation>此文件不是文本：{kind}，{size}。请用其应用程序打开。</translation>
    </message>
    <message>
        <source>This is not a regular file: it is a folder, a device or a pipe.</source>
        <translation>这不是有内容的文件：是文件夹、设备或管道。</translation>
    </message>
    <message>
        <source>Too large to be shown here: {size}, where {most} is the limit. Open it with its application.</source>
        <translation>文件过大，无法在此显示：{size}，上限为 {most}。请用其应用程序打开。</translation>
    </message>
</context>
<context>
    <name>ViewerHead</name>
    <message>
        <source>Find</source>
        <translation>查找</translation>
    </message>
    <message>
        <source>Go to line</source>
        <translation>转到行</translation>
    </message>
    <message>
        <source>Open with its application</source>
        <translation>用默认应用程序打开</translation>
    </message>
    <message>
        <source>Save</source>
        <translation>保存</translation>
    </message>
</context>
<context>
    <name>Viewing</name>
    <message>
        <source>A sub-agent works in this session. You can read along.</source>
        <translation>此会话中有子代理正在工作。您可以跟随阅读。</translation>
    </message>
    <message>
        <source>Close it in the other window, then take it over.</source>
        <translation>请在另一个窗口中关闭它，然后接管。</translation>
    </message>
    <message>
        <source>This session is open in another window. You can read it here.</source>
        <translation>此会话已在另一个窗口中打开。您可以在此阅读。</translation>
    </message>
    <message>
        <source>This session is read-only here. Nothing was done.</source>
        <translation>此会话在此只读。未执行任何操作。</translation>
    </message>
</context>
<context>
    <name>ViewingBar</name>
    <message>
        <source>Take it over to continue it here.</source>
        <translation>接管后即可在此继续。</translation>
    </message>
    <message>
        <source>Take over</source>
        <translation>接管</translation>
    </message>
    <message>
        <source>This session is no longer open elsewhere.</source>
        <translation>此会话已不在其他地方打开。</translation>
    </message>
    <message>
        <source>You can take it over when that ends.</source>
        <translation>结束后您可以接管它。</translation>
    </message>
</context>
<context>
    <name>WaitingPrompts</name>
    <message>
        <source>and {count} more</source>
        <translation>及另外 {count} 条</translation>
    </message>
</context>
<context>
    <name>WaitingStep</name>
    <message>
        <source>Sign in</source>
        <translation>登录</translation>
    </message>
    <message>
        <source>The sign-in continues in your browser, on the service&apos;s own page.</source>
        <translation>登录将在浏览器中、在服务自己的页面上继续。</translation>
    </message>
</context>
<context>
    <name>WebResultsBody</name>
    <message>
        <source>Show fewer</source>
        <translation>显示更少</translation>
    </message>
</context>
<context>
    <name>Welcome</name>
    <message>
        <source>Asking {0}…</source>
        <translation>正在询问 {0}…</translation>
    </message>
    <message>
        <source>Check that the key is complete and belongs to {0}.</source>
        <translation>请检查密钥是否完整，以及是否用于 {0}。</translation>
    </message>
    <message>
        <source>Choose another name.</source>
        <translation>请选择其他名称。</translation>
    </message>
    <message>
        <source>Preparing the sign-in…</source>
        <translation>正在准备登录…</translation>
    </message>
    <message>
        <source>There is another account called “{0}”.</source>
        <translation>已有另一个名为“{0}”的账户。</translation>
    </message>
    <message>
        <source>You are signed in. Asking {0}…</source>
        <translation>您已登录。正在询问 {0}…</translation>
    </message>
</context>
<context>
    <name>WholePage</name>
    <message>
        <source>These versions cannot be merged line by line. Choose one of them.</source>
        <translation>这些版本无法逐行合并。请选择其中一个完整版本。</translation>
    </message>
</context>
<context>
    <name>Window</name>
    <message>
        <source>Copy what you wrote in the field, close the window and start it again.</source>
        <translation>请复制输入框中的内容，关闭窗口后重新启动。</translation>
    </message>
    <message>
        <source>Desktop Agent could not be loaded, so nothing can be sent or opened here.</source>
        <translation>Desktop Agent 无法加载，因此这里不能发送或打开任何内容。</translation>
    </message>
    <message>
        <source>Something went wrong inside the application.</source>
        <translation>应用程序内部出错。</translation>
    </message>
    <message>
        <source>Your files and conversations are safe. The details are in the log.</source>
        <translation>您的文件和对话是安全的。详情见日志。</translation>
    </message>
</context>
<context>
    <name>WindowSessions</name>
    <message>
        <source>Take this session over to continue it here.</source>
        <translation>接管此会话以在此继续。</translation>
    </message>
</context>
<context>
    <name>WordDialog</name>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Message to the agent</source>
        <translation>给代理的消息</translation>
    </message>
    <message>
        <source>The agent reads this with your next message, so that it does not try the same again.</source>
        <translation>代理会随您的下一条消息读到此内容，避免再次尝试同样的做法。</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>撤销</translation>
    </message>
    <message>
        <source>Why are you undoing this?</source>
        <translation>为什么撤销？</translation>
    </message>
</context>
<context>
    <name>WorktreeBar</name>
    <message>
        <source>Dismiss</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>Restore</source>
        <translation>恢复</translation>
    </message>
</context>
<context>
    <name>WorktreeControl</name>
    <message numerus="yes">
        <source>%n files cannot be brought back</source>
        <translation>
            <numerusform>有 %n 个文件无法取回</numerusform>
        </translation>
    </message>
    <message>
        <source>Move it back to go on: git worktree move {0} {1}</source>
        <translation>要继续，请将其移回：git worktree move {0} {1}</translation>
    </message>
    <message>
        <source>Nothing new to bring back from {0}</source>
        <translation>{0} 中没有新的内容可取回</translation>
    </message>
    <message>
        <source>The folder of the worktree {0} is gone.</source>
        <translation>工作树 {0} 的文件夹已不存在。</translation>
    </message>
    <message>
        <source>The folder {0} has all that the worktree has.</source>
        <translation>文件夹 {0} 已包含工作树的全部内容。</translation>
    </message>
    <message>
        <source>The worktree {0} is in the trash.</source>
        <translation>工作树 {0} 在回收站中。</translation>
    </message>
    <message>
        <source>The worktree {0} was deleted.</source>
        <translation>工作树 {0} 已删除。</translation>
    </message>
    <message>
        <source>The worktree {0} was moved.</source>
        <translation>工作树 {0} 已被移动。</translation>
    </message>
    <message>
        <source>You can read this session. Its branch was {0}.</source>
        <translation>您可以阅读此会话。它的分支曾是 {0}。</translation>
    </message>
    <message>
        <source>You can read this session. To go on with it, restore the worktree.</source>
        <translation>您可以阅读此会话。要继续，请恢复工作树。</translation>
    </message>
    <message>
        <source>git does not know the worktree {0} any more.</source>
        <translation>git 不再认识工作树 {0}。</translation>
    </message>
</context>
<context>
    <name>WorktreeRow</name>
    <message numerus="yes">
        <source>%n commits</source>
        <translation>
            <numerusform>%n 个提交</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n files</source>
        <translation>
            <numerusform>%n 个文件</numerusform>
        </translation>
    </message>
    <message>
        <source>All is brought back</source>
        <translation>已全部取回</translation>
    </message>
    <message>
        <source>Another process is working on it</source>
        <translation>另一个进程正在处理</translation>
    </message>
    <message>
        <source>Bring back…</source>
        <translation>取回…</translation>
    </message>
    <message>
        <source>Bring the changes of {0} back</source>
        <translation>取回 {0} 的更改</translation>
    </message>
    <message>
        <source>In the trash, until {0}</source>
        <translation>在回收站中，直到 {0}</translation>
    </message>
    <message>
        <source>Its folder is gone. Restore puts back what git knows of it.</source>
        <translation>它的文件夹已不存在。“恢复”会放回 git 所知的内容。</translation>
    </message>
    <message>
        <source>Looking…</source>
        <translation>正在查看…</translation>
    </message>
    <message>
        <source>Move {0} to the trash</source>
        <translation>将 {0} 移到回收站</translation>
    </message>
    <message>
        <source>Moved to {0}</source>
        <translation>已移动到 {0}</translation>
    </message>
    <message>
        <source>Not brought back: {0}</source>
        <translation>未取回：{0}</translation>
    </message>
    <message>
        <source>Open</source>
        <translation>打开</translation>
    </message>
    <message>
        <source>Open the session of {0}</source>
        <translation>打开 {0} 的会话</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>移除</translation>
    </message>
    <message>
        <source>Restore</source>
        <translation>恢复</translation>
    </message>
    <message>
        <source>Restore {0}</source>
        <translation>恢复 {0}</translation>
    </message>
    <message>
        <source>Worktree {0}</source>
        <translation>工作树 {0}</translation>
    </message>
    <message>
        <source>git does not know it any more. Restore makes it a worktree again.</source>
        <translation>git 不再认识它。“恢复”会使它重新成为工作树。</translation>
    </message>
    <message>
        <source>its session was deleted</source>
        <translation>其会话已删除</translation>
    </message>
</context>
<context>
    <name>WorktreeSheet</name>
    <message>
        <source>A branch, a tag or a commit</source>
        <translation>分支、标签或提交</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Create</source>
        <translation>创建</translation>
    </message>
    <message>
        <source>Creating…</source>
        <translation>正在创建…</translation>
    </message>
    <message>
        <source>Name</source>
        <translation>名称</translation>
    </message>
    <message>
        <source>New session in a worktree</source>
        <translation>在工作树中新建会话</translation>
    </message>
    <message>
        <source>Start from</source>
        <translation>起点</translation>
    </message>
    <message>
        <source>The agent works in a second checkout of {0}, on its own branch. Your files stay as they are until you bring its changes back.</source>
        <translation>代理在 {0} 的第二个检出中工作，使用自己的分支。在您取回其更改之前，您的文件保持不变。</translation>
    </message>
    <message>
        <source>The last commit</source>
        <translation>最近一次提交</translation>
    </message>
    <message>
        <source>What the set-up command prints</source>
        <translation>设置命令的输出</translation>
    </message>
</context>
<context>
    <name>WorktreesDialog</name>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>Looking…</source>
        <translation>正在查看…</translation>
    </message>
    <message>
        <source>Removed worktrees stay in the trash for a month, with everything in them.</source>
        <translation>移除的工作树及其全部内容会在回收站中保留一个月。</translation>
    </message>
    <message>
        <source>There are no worktrees.</source>
        <translation>没有工作树。</translation>
    </message>
    <message>
        <source>Worktrees</source>
        <translation>工作树</translation>
    </message>
</context>
<context>
    <name>_Commands</name>
    <message>
        <source>Cannot be used: {problem}</source>
        <translation>无法使用：{problem}</translation>
    </message>
    <message>
        <source>project</source>
        <translation>项目</translation>
    </message>
    <message>
        <source>server</source>
        <translation>服务器</translation>
    </message>
    <message>
        <source>skill</source>
        <translation>技能</translation>
    </message>
    <message>
        <source>yours</source>
        <translation>您的</translation>
    </message>
</context>
<context>
    <name>_ExportProgress</name>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Export the conversation</source>
        <translation>导出对话</translation>
    </message>
    <message>
        <source>Exporting…</source>
        <translation>正在导出…</translation>
    </message>
    <message>
        <source>Exporting… {0}</source>
        <translation>正在导出… {0}</translation>
    </message>
</context>
<context>
    <name>_Offers</name>
    <message>
        <source>class</source>
        <translation>类</translation>
    </message>
    <message>
        <source>constant</source>
        <translation>常量</translation>
    </message>
    <message>
        <source>file</source>
        <translation>文件</translation>
    </message>
    <message>
        <source>folder</source>
        <translation>文件夹</translation>
    </message>
    <message>
        <source>function</source>
        <translation>函数</translation>
    </message>
    <message>
        <source>module</source>
        <translation>模块</translation>
    </message>
    <message>
        <source>resource</source>
        <translation>资源</translation>
    </message>
    <message>
        <source>session</source>
        <translation>会话</translation>
    </message>
    <message>
        <source>source</source>
        <translation>来源</translation>
    </message>
    <message>
        <source>template</source>
        <translation>模板</translation>
    </message>
    <message>
        <source>type</source>
        <translation>类型</translation>
    </message>
</context>
<context>
    <name>_RemovableChip</name>
    <message>
        <source>Attached: {name}, {detail}</source>
        <translation>随消息一起发送：{name}，{detail}</translation>
    </message>
    <message>
        <source>Enter shows it, Delete removes it from the message.</source>
        <translation>按 Enter 显示，按 Delete 从消息中移除。</translation>
    </message>
    <message>
        <source>Remove it from the message</source>
        <translation>从消息中移除</translation>
    </message>
    <message>
        <source>Remove {name} from the message</source>
        <translation>从消息中移除 {name}</translation>
    </message>
    <message>
        <source>Too large for a model</source>
        <translation>对模型来说太大</translation>
    </message>
</context>
</TS>
