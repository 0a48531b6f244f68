<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de" sourcelanguage="en">
<context>
    <name>AccountActions</name>
    <message>
        <source>No account can be used until this is fixed: {0}</source>
        <translation>Bis dies behoben ist, wird kein Konto verwendet: {0}</translation>
    </message>
    <message>
        <source>Asking {0}…</source>
        <translation>{0} wird gefragt …</translation>
    </message>
    <message>
        <source>No model has been asked yet.</source>
        <translation>Noch wurde kein Modell gefragt.</translation>
    </message>
    <message>
        <source>Preparing the sign-in…</source>
        <translation>Die Anmeldung wird vorbereitet …</translation>
    </message>
    <message>
        <source>Removing the key…</source>
        <translation>Der Schlüssel wird entfernt …</translation>
    </message>
    <message>
        <source>Saving the key…</source>
        <translation>Der Schlüssel wird gespeichert …</translation>
    </message>
    <message>
        <source>The key is kept in the system keyring.</source>
        <translation>Der Schlüssel liegt im Schlüsselbund des Systems.</translation>
    </message>
    <message>
        <source>The key was removed.</source>
        <translation>Der Schlüssel wurde entfernt.</translation>
    </message>
    <message>
        <source>The key works.</source>
        <translation>Der Schlüssel funktioniert.</translation>
    </message>
    <message>
        <source>You are signed in, and {0} answers.</source>
        <translation>Sie sind angemeldet, und {0} antwortet.</translation>
    </message>
    <message>
        <source>{0} answers.</source>
        <translation>{0} antwortet.</translation>
    </message>
</context>
<context>
    <name>AccountChooser</name>
    <message>
        <source>Account</source>
        <translation>Konto</translation>
    </message>
    <message>
        <source>Add an account</source>
        <translation>Konto hinzufügen</translation>
    </message>
    <message>
        <source>Add…</source>
        <translation>Hinzufügen …</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>Entfernen</translation>
    </message>
    <message>
        <source>Remove this account</source>
        <translation>Dieses Konto entfernen</translation>
    </message>
    <message>
        <source>Remove with its key</source>
        <translation>Mit Schlüssel entfernen</translation>
    </message>
    <message>
        <source>Sign out</source>
        <translation>Abmelden</translation>
    </message>
    <message>
        <source>Sign out now</source>
        <translation>Jetzt abmelden</translation>
    </message>
    <message>
        <source>The account “{0}” no longer exists. Choose another one, or add it again.</source>
        <translation>Es gibt kein Konto „{0}“ mehr. Wählen Sie ein anderes, oder fügen Sie es wieder hinzu.</translation>
    </message>
</context>
<context>
    <name>AccountFields</name>
    <message>
        <source>Address of the account</source>
        <translation>Adresse des Kontos</translation>
    </message>
    <message>
        <source>For example: work</source>
        <translation>Zum Beispiel: Arbeit</translation>
    </message>
    <message>
        <source>Give the account a name.</source>
        <translation>Geben Sie dem Konto einen Namen.</translation>
    </message>
    <message>
        <source>How the key is sent</source>
        <translation>Wie der Schlüssel übertragen wird</translation>
    </message>
    <message>
        <source>Name of the account</source>
        <translation>Name des Kontos</translation>
    </message>
    <message>
        <source>No key is needed</source>
        <translation>Kein Schlüssel nötig</translation>
    </message>
    <message>
        <source>The account cannot be used: {0}.</source>
        <translation>Das Konto kann nicht verwendet werden: {0}.</translation>
    </message>
    <message>
        <source>An account with this name already exists.</source>
        <translation>Es gibt schon ein Konto dieses Namens.</translation>
    </message>
</context>
<context>
    <name>AccountForm</name>
    <message>
        <source>Add account</source>
        <translation>Konto hinzufügen</translation>
    </message>
    <message>
        <source>Address</source>
        <translation>Adresse</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>The key is sent to this address only. Leave it empty for the provider&apos;s own.</source>
        <translation>Sein Schlüssel wird nur an diese Adresse gesendet. Leer: die des Anbieters.</translation>
    </message>
    <message>
        <source>Key sent as</source>
        <translation>Schlüssel gesendet als</translation>
    </message>
    <message>
        <source>Name</source>
        <translation>Name</translation>
    </message>
    <message>
        <source>New account of {0}</source>
        <translation>Neues Konto bei {0}</translation>
    </message>
</context>
<context>
    <name>Accounts</name>
    <message>
        <source>Requests go to {0}, signed in as you. Removing the account signs you out.</source>
        <translation>Anfragen gehen an {0}, mit Ihrer Anmeldung. Wird das Konto entfernt, werden Sie abgemeldet.</translation>
    </message>
    <message>
        <source>Requests go to {0}, with its API key. The key is sent nowhere else.</source>
        <translation>Anfragen gehen an {0}, mit dem API-Schlüssel dafür. Der Schlüssel wird nirgends sonst hingesendet.</translation>
    </message>
    <message>
        <source>Requests go to {0}. No key is needed there.</source>
        <translation>Anfragen gehen an {0}. Dort ist kein Schlüssel nötig.</translation>
    </message>
    <message>
        <source>Default</source>
        <translation>Standard</translation>
    </message>
    <message>
        <source>Requests go to {0}, with a profile of the provider&apos;s own tools, which store the tokens.</source>
        <translation>Anfragen gehen an {0}, mit einem Profil der Werkzeuge des Anbieters, die seine Token aufbewahren.</translation>
    </message>
    <message>
        <source>Requests go to {0}, with credentials that the cloud&apos;s own tools store.</source>
        <translation>Anfragen gehen an {0}, mit Zugangsdaten, die die Werkzeuge der Cloud aufbewahren.</translation>
    </message>
    <message>
        <source>as the environment says</source>
        <translation>aus der Umgebung</translation>
    </message>
    <message>
        <source>profile</source>
        <translation>Profil</translation>
    </message>
    <message>
        <source>signed in</source>
        <translation>angemeldet</translation>
    </message>
    <message>
        <source>{0} (from the environment variable {1})</source>
        <translation>{0} (aus der Umgebungsvariable {1})</translation>
    </message>
    <message>
        <source>{0} (from the settings)</source>
        <translation>{0} (aus den Einstellungen)</translation>
    </message>
    <message>
        <source>{0} (the account&apos;s own address)</source>
        <translation>{0} (die eigene Adresse des Kontos)</translation>
    </message>
    <message>
        <source>{0}, through the proxy {1} (from {2})</source>
        <translation>{0}, über den Proxy {1} (aus {2})</translation>
    </message>
</context>
<context>
    <name>Actions</name>
    <message>
        <source>Attach the output of the terminal</source>
        <translation>Ausgabe des Terminals anhängen</translation>
    </message>
    <message>
        <source>Background work</source>
        <translation>Im Hintergrund</translation>
    </message>
    <message>
        <source>Branches…</source>
        <translation>Branches …</translation>
    </message>
    <message>
        <source>Bring the worktree&apos;s changes back…</source>
        <translation>Änderungen des Worktrees zurückholen …</translation>
    </message>
    <message>
        <source>Carry out the plan</source>
        <translation>Den Plan ausführen</translation>
    </message>
    <message>
        <source>Carry out the plan in a worktree</source>
        <translation>Den Plan in einem Worktree ausführen</translation>
    </message>
    <message>
        <source>Choose a model…</source>
        <translation>Modell wählen …</translation>
    </message>
    <message>
        <source>Choose which changes to review…</source>
        <translation>Zu prüfende Änderungen wählen …</translation>
    </message>
    <message>
        <source>Command palette…</source>
        <translation>Befehlspalette …</translation>
    </message>
    <message>
        <source>Commit what you keep…</source>
        <translation>Committen, was Sie behalten …</translation>
    </message>
    <message>
        <source>Compare variants…</source>
        <translation>Varianten vergleichen …</translation>
    </message>
    <message>
        <source>Export the conversation…</source>
        <translation>Unterhaltung exportieren …</translation>
    </message>
    <message>
        <source>Filter the files</source>
        <translation>Dateien filtern</translation>
    </message>
    <message>
        <source>Find in the conversation</source>
        <translation>In der Unterhaltung suchen</translation>
    </message>
    <message>
        <source>Go back to before a message…</source>
        <translation>Vor eine Nachricht zurückgehen …</translation>
    </message>
    <message>
        <source>Go to file…</source>
        <translation>Gehe zu Datei …</translation>
    </message>
    <message>
        <source>Go to the next undecided change</source>
        <translation>Zur nächsten unentschiedenen Änderung</translation>
    </message>
    <message>
        <source>Go to the previous undecided change</source>
        <translation>Zur vorherigen unentschiedenen Änderung</translation>
    </message>
    <message>
        <source>Import a conversation…</source>
        <translation>Unterhaltung importieren …</translation>
    </message>
    <message>
        <source>Inbox</source>
        <translation>Eingang</translation>
    </message>
    <message>
        <source>Keep everything listed in the review</source>
        <translation>Alles in der Prüfung Aufgelistete behalten</translation>
    </message>
    <message>
        <source>Keep the file in review</source>
        <translation>Datei in der Prüfung behalten</translation>
    </message>
    <message>
        <source>Keyboard shortcuts…</source>
        <translation>Tastenkürzel …</translation>
    </message>
    <message>
        <source>New session</source>
        <translation>Neue Sitzung</translation>
    </message>
    <message>
        <source>New session in a worktree…</source>
        <translation>Neue Sitzung in einem Worktree …</translation>
    </message>
    <message>
        <source>New window</source>
        <translation>Neues Fenster</translation>
    </message>
    <message>
        <source>Next session</source>
        <translation>Nächste Sitzung</translation>
    </message>
    <message>
        <source>Open folder…</source>
        <translation>Ordner öffnen …</translation>
    </message>
    <message>
        <source>Plan first, or stop planning</source>
        <translation>Zuerst planen oder das Planen beenden</translation>
    </message>
    <message>
        <source>Plan…</source>
        <translation>Plan …</translation>
    </message>
    <message>
        <source>Previous session</source>
        <translation>Vorige Sitzung</translation>
    </message>
    <message>
        <source>Quit</source>
        <translation>Beenden</translation>
    </message>
    <message>
        <source>Quote the selection, or the last answer</source>
        <translation>Auswahl oder letzte Antwort zitieren</translation>
    </message>
    <message>
        <source>Redo the last undo</source>
        <translation>Zuletzt rückgängig Gemachtes wiederherstellen</translation>
    </message>
    <message>
        <source>Review</source>
        <translation>Prüfung</translation>
    </message>
    <message>
        <source>Review in the whole window</source>
        <translation>Prüfung im ganzen Fenster</translation>
    </message>
    <message>
        <source>Search all sessions…</source>
        <translation>Alle Sitzungen durchsuchen …</translation>
    </message>
    <message>
        <source>Send the comments of the review…</source>
        <translation>Kommentare der Prüfung senden …</translation>
    </message>
    <message>
        <source>Sessions and files</source>
        <translation>Sitzungen und Dateien</translation>
    </message>
    <message>
        <source>Settings…</source>
        <translation>Einstellungen …</translation>
    </message>
    <message>
        <source>Stop the agent</source>
        <translation>Agenten anhalten</translation>
    </message>
    <message>
        <source>Summarise older turns for the agent</source>
        <translation>Ältere Runden für den Agenten zusammenfassen</translation>
    </message>
    <message>
        <source>Terminal</source>
        <translation>Terminal</translation>
    </message>
    <message>
        <source>Try the demo</source>
        <translation>Demo ausprobieren</translation>
    </message>
    <message>
        <source>Try with…</source>
        <translation>Versuchen mit …</translation>
    </message>
    <message>
        <source>Undo the agent&apos;s turn</source>
        <translation>Runde des Agenten rückgängig machen</translation>
    </message>
    <message>
        <source>Undo the file in review</source>
        <translation>Datei in der Prüfung rückgängig machen</translation>
    </message>
    <message>
        <source>Undo the last commit</source>
        <translation>Letzten Commit rückgängig machen</translation>
    </message>
    <message>
        <source>Usage…</source>
        <translation>Nutzung …</translation>
    </message>
    <message>
        <source>What is new…</source>
        <translation>Was ist neu …</translation>
    </message>
    <message>
        <source>What the model sees…</source>
        <translation>Was das Modell sieht …</translation>
    </message>
    <message>
        <source>Worktrees…</source>
        <translation>Worktrees …</translation>
    </message>
    <message>
        <source>Write a message</source>
        <translation>Nachricht schreiben</translation>
    </message>
</context>
<context>
    <name>ActivityLine</name>
    <message>
        <source>Working…</source>
        <translation>Arbeitet …</translation>
    </message>
</context>
<context>
    <name>AddressEditor</name>
    <message>
        <source>Address</source>
        <translation>Adresse</translation>
    </message>
    <message>
        <source>Not encrypted: anyone on the way can read the key and the conversation.</source>
        <translation>Nicht verschlüsselt: Jeder auf dem Weg kann Schlüssel und Unterhaltung lesen.</translation>
    </message>
    <message>
        <source>Only for a gateway or proxy; empty means the provider&apos;s own.</source>
        <translation>Nur für ein Gateway oder einen Proxy; leer bedeutet die des Anbieters.</translation>
    </message>
    <message>
        <source>Set by the account. For a different address, add another account.</source>
        <translation>Die des Kontos. Für eine andere fügen Sie ein anderes Konto hinzu.</translation>
    </message>
    <message>
        <source>This address cannot be used: {0}.</source>
        <translation>Diese Adresse kann nicht verwendet werden: {0}.</translation>
    </message>
</context>
<context>
    <name>AddressFields</name>
    <message>
        <source>Another header</source>
        <translation>Weiterer Header</translation>
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
        <translation>Client-ID</translation>
    </message>
    <message>
        <source>Client ID at the server</source>
        <translation>Client-ID beim Server</translation>
    </message>
    <message>
        <source>Client secret</source>
        <translation>Client-Geheimnis</translation>
    </message>
    <message>
        <source>Client secret at the server</source>
        <translation>Client-Geheimnis beim Server</translation>
    </message>
    <message>
        <source>Headers</source>
        <translation>Header</translation>
    </message>
    <message>
        <source>Headers that are secrets, and the client secret, go to the keyring of your system.</source>
        <translation>Geheime Header und das Client-Geheimnis kommen in den Schlüsselbund Ihres Systems.</translation>
    </message>
    <message>
        <source>Name of header {0}</source>
        <translation>Name von Header {0}</translation>
    </message>
    <message>
        <source>Only if you registered this application there by hand</source>
        <translation>Nur bei einer dort von Hand registrierten Anwendung</translation>
    </message>
    <message>
        <source>Optional</source>
        <translation>Optional</translation>
    </message>
    <message>
        <source>Value of header {0}</source>
        <translation>Wert von Header {0}</translation>
    </message>
    <message>
        <source>a header needs a name</source>
        <translation>ein Header braucht einen Namen</translation>
    </message>
</context>
<context>
    <name>AddressStep</name>
    <message>
        <source>API key</source>
        <translation>API-Schlüssel</translation>
    </message>
    <message>
        <source>Address</source>
        <translation>Adresse</translation>
    </message>
    <message>
        <source>Anthropic&apos;s Messages</source>
        <translation>Anthropics Messages</translation>
    </message>
    <message>
        <source>Chat Completions: most servers</source>
        <translation>Chat Completions: die meisten Server</translation>
    </message>
    <message>
        <source>Enter an address</source>
        <translation>Adresse eingeben</translation>
    </message>
    <message>
        <source>Format</source>
        <translation>Format</translation>
    </message>
    <message>
        <source>The key is sent to this address only. The connection is tested before anything is saved.</source>
        <translation>Der Schlüssel wird nur an diese Adresse gesendet. Die Verbindung wird geprüft, bevor etwas gespeichert wird.</translation>
    </message>
    <message>
        <source>Key sent as</source>
        <translation>Schlüssel gesendet als</translation>
    </message>
    <message>
        <source>Name</source>
        <translation>Name</translation>
    </message>
    <message>
        <source>Not encrypted: anyone on the way can read the key and the conversation.</source>
        <translation>Nicht verschlüsselt: Jeder auf dem Weg kann Schlüssel und Unterhaltung lesen.</translation>
    </message>
    <message>
        <source>OpenAI&apos;s Responses</source>
        <translation>OpenAIs Responses</translation>
    </message>
    <message>
        <source>Test and continue</source>
        <translation>Prüfen und fortfahren</translation>
    </message>
</context>
<context>
    <name>AgentCard</name>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Edit…</source>
        <translation>Bearbeiten …</translation>
    </message>
    <message>
        <source>Remove the agent {0}</source>
        <translation>Den Agenten {0} entfernen</translation>
    </message>
    <message>
        <source>Remove {0} from your settings?</source>
        <translation>{0} aus Ihren Einstellungen entfernen?</translation>
    </message>
    <message>
        <source>Set up…</source>
        <translation>Einrichten …</translation>
    </message>
    <message>
        <source>Sign in with {0}: {1}</source>
        <translation>Bei {0} anmelden: {1}</translation>
    </message>
    <message>
        <source>Sign in…</source>
        <translation>Anmelden …</translation>
    </message>
    <message>
        <source>Test</source>
        <translation>Testen</translation>
    </message>
</context>
<context>
    <name>AgentControl</name>
    <message>
        <source>It runs `{0}`.</source>
        <translation>Dafür läuft `{0}`.</translation>
    </message>
    <message>
        <source>Signing in with {0}…</source>
        <translation>Anmeldung bei {0} …</translation>
    </message>
    <message>
        <source>Imported from Zed: {0}.</source>
        <translation>Aus Zed übernommen: {0}.</translation>
    </message>
    <message>
        <source>The sign-in ended with code {0}.</source>
        <translation>Die Anmeldung endete mit Code {0}.</translation>
    </message>
    <message>
        <source>The test was interrupted.</source>
        <translation>Der Test wurde abgebrochen.</translation>
    </message>
    <message>
        <source>There is no terminal here.</source>
        <translation>Hier gibt es kein Terminal.</translation>
    </message>
    <message>
        <source>You are signed in with {0}.</source>
        <translation>Sie sind bei {0} angemeldet.</translation>
    </message>
    <message>
        <source>nothing new</source>
        <translation>nichts Neues</translation>
    </message>
</context>
<context>
    <name>AgentForm</name>
    <message>
        <source>Add and test</source>
        <translation>Hinzufügen und testen</translation>
    </message>
    <message>
        <source>An agent with this name already exists.</source>
        <translation>Es gibt schon einen Agenten dieses Namens.</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Command</source>
        <translation>Befehl</translation>
    </message>
    <message>
        <source>Command line of the agent</source>
        <translation>Befehlszeile des Agenten</translation>
    </message>
    <message>
        <source>Edit {0}</source>
        <translation>{0} bearbeiten</translation>
    </message>
    <message>
        <source>For example: my-agent --acp</source>
        <translation>Zum Beispiel: my-agent --acp</translation>
    </message>
    <message>
        <source>For example: reviewer</source>
        <translation>Zum Beispiel: reviewer</translation>
    </message>
    <message>
        <source>Hosts that the agent may reach</source>
        <translation>Hosts, die der Agent erreichen darf</translation>
    </message>
    <message>
        <source>In the sandbox: writes none of your files</source>
        <translation>In der Sandbox: schreibt keine Ihrer Dateien</translation>
    </message>
    <message>
        <source>In the sandbox: writes only the open folder</source>
        <translation>In der Sandbox: schreibt nur den geöffneten Ordner</translation>
    </message>
    <message>
        <source>It can do everything that you can do. Add only what you trust.</source>
        <translation>Er kann alles, was Sie können. Fügen Sie nur hinzu, was Sie für vertrauenswürdig halten.</translation>
    </message>
    <message>
        <source>It needs the hosts of its model. A sign-in in your home folder is hidden from it.</source>
        <translation>Er braucht die Hosts seines Modells. Eine Anmeldung in Ihrem persönlichen Ordner sieht er nicht.</translation>
    </message>
    <message>
        <source>May reach</source>
        <translation>Darf erreichen</translation>
    </message>
    <message>
        <source>Name</source>
        <translation>Name</translation>
    </message>
    <message>
        <source>Name of the agent</source>
        <translation>Name des Agenten</translation>
    </message>
    <message>
        <source>New agent</source>
        <translation>Neuer Agent</translation>
    </message>
    <message>
        <source>None. For example: api.example.org, *.example.org</source>
        <translation>Keine. Zum Beispiel: api.example.org, *.example.org</translation>
    </message>
    <message>
        <source>Outside the sandbox, as in your terminal</source>
        <translation>Außerhalb der Sandbox, wie in Ihrem Terminal</translation>
    </message>
    <message>
        <source>Sandbox</source>
        <translation>Sandbox</translation>
    </message>
    <message>
        <source>Save and test</source>
        <translation>Speichern und testen</translation>
    </message>
    <message>
        <source>The agent cannot be added: {0}.</source>
        <translation>Der Agent kann nicht hinzugefügt werden: {0}.</translation>
    </message>
</context>
<context>
    <name>AgentPickers</name>
    <message>
        <source>Option</source>
        <translation>Option</translation>
    </message>
    <message>
        <source>Options</source>
        <translation>Optionen</translation>
    </message>
</context>
<context>
    <name>AgentWords</name>
    <message>
        <source>It works: {0}</source>
        <translation>Er funktioniert: {0}</translation>
    </message>
    <message>
        <source>Signing in. The agent may have opened your browser.</source>
        <translation>Anmeldung läuft. Vielleicht hat der Agent Ihren Browser geöffnet.</translation>
    </message>
    <message>
        <source>Starting…</source>
        <translation>Startet …</translation>
    </message>
    <message>
        <source>Starts when you choose it. A test says whether it works.</source>
        <translation>Startet, wenn Sie ihn wählen. Ein Test zeigt, ob er funktioniert.</translation>
    </message>
    <message>
        <source>There is no program {0}.</source>
        <translation>Es gibt kein Programm {0}.</translation>
    </message>
    <message>
        <source>modes: {0}</source>
        <translation>Modi: {0}</translation>
    </message>
    <message>
        <source>supports {0}</source>
        <translation>unterstützt {0}</translation>
    </message>
</context>
<context>
    <name>AgentsPage</name>
    <message>
        <source>Add agent…</source>
        <translation>Agent hinzufügen …</translation>
    </message>
    <message>
        <source>Claude Code, Codex and other agents that speak the Agent Client Protocol work in sessions here, with the review and the undo of this program. Those that are installed are listed.</source>
        <translation>Claude Code, Codex und andere Agenten, die das Agent Client Protocol sprechen, arbeiten hier in Sitzungen, mit der Prüfung und dem Rückgängigmachen dieses Programms. Installierte sind aufgeführt.</translation>
    </message>
    <message>
        <source>Not installed</source>
        <translation>Nicht installiert</translation>
    </message>
    <message>
        <source>Import from Zed</source>
        <translation>Aus Zed übernehmen</translation>
    </message>
    <message>
        <source>Import the agents of Zed</source>
        <translation>Die Agenten von Zed übernehmen</translation>
    </message>
</context>
<context>
    <name>AnswerButton</name>
    <message>
        <source>Answer the question that {0} is waiting for</source>
        <translation>Die Frage beantworten, auf die {0} wartet</translation>
    </message>
    <message>
        <source>Answer…</source>
        <translation>Antworten …</translation>
    </message>
</context>
<context>
    <name>ApiKeyField</name>
    <message>
        <source>API key</source>
        <translation>API-Schlüssel</translation>
    </message>
    <message>
        <source>Hide</source>
        <translation>Verbergen</translation>
    </message>
    <message>
        <source>Paste a key</source>
        <translation>Schlüssel einfügen</translation>
    </message>
    <message>
        <source>Show</source>
        <translation>Anzeigen</translation>
    </message>
    <message>
        <source>Show the key</source>
        <translation>Schlüssel anzeigen</translation>
    </message>
</context>
<context>
    <name>ApplyDialog</name>
    <message>
        <source>Apply to file</source>
        <translation>Auf Datei anwenden</translation>
    </message>
    <message>
        <source>At the end</source>
        <translation>Am Ende</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Choose a file</source>
        <translation>Datei wählen</translation>
    </message>
    <message>
        <source>File</source>
        <translation>Datei</translation>
    </message>
    <message>
        <source>File, relative to the folder of the conversation</source>
        <translation>Datei, ab dem Ordner der Unterhaltung</translation>
    </message>
    <message>
        <source>Nothing to change</source>
        <translation>Nichts zu ändern</translation>
    </message>
    <message>
        <source>The file already contains this.</source>
        <translation>So steht es schon in der Datei.</translation>
    </message>
    <message>
        <source>The lines it matches</source>
        <translation>Die Zeilen, auf die er passt</translation>
    </message>
    <message>
        <source>The file does not exist yet. It will be created.</source>
        <translation>Diese Datei gibt es noch nicht: Sie wird angelegt.</translation>
    </message>
    <message>
        <source>This counts as your change, and can be undone in the review.</source>
        <translation>Dies zählt als Ihre Änderung und kann in der Prüfung rückgängig gemacht werden.</translation>
    </message>
    <message>
        <source>The change is shown here before it is written.</source>
        <translation>Was sich ändern würde, wird hier vor dem Schreiben gezeigt.</translation>
    </message>
    <message>
        <source>What the code replaces</source>
        <translation>Was der Code ersetzt</translation>
    </message>
    <message>
        <source>Whole file</source>
        <translation>Ganze Datei</translation>
    </message>
    <message>
        <source>Write file</source>
        <translation>Datei schreiben</translation>
    </message>
    <message>
        <source>src/example.py</source>
        <translation>src/beispiel.py</translation>
    </message>
</context>
<context>
    <name>ApprovalCard</name>
    <message>
        <source>Run this command?</source>
        <translation>Diesen Befehl ausführen?</translation>
    </message>
    <message>
        <source>Show the definition</source>
        <translation>Definition anzeigen</translation>
    </message>
    <message>
        <source>The server&apos;s description of the tool</source>
        <translation>Beschreibung des Werkzeugs durch den Server</translation>
    </message>
    <message>
        <source>Why?</source>
        <translation>Warum?</translation>
    </message>
    <message>
        <source>in {folder}</source>
        <translation>in {folder}</translation>
    </message>
    <message>
        <source>Command</source>
        <translation>Befehl</translation>
    </message>
    <message>
        <source>Details</source>
        <translation>Details</translation>
    </message>
    <message>
        <source>Edit</source>
        <translation>Bearbeiten</translation>
    </message>
    <message>
        <source>Edit the command ({keys})</source>
        <translation>Befehl bearbeiten ({keys})</translation>
    </message>
    <message>
        <source>Go back to the agent&apos;s command</source>
        <translation>Zurück zum Befehl des Agenten</translation>
    </message>
    <message>
        <source>Hide reasons</source>
        <translation>Gründe ausblenden</translation>
    </message>
    <message>
        <source>Hide the definition</source>
        <translation>Definition ausblenden</translation>
    </message>
    <message>
        <source>Proposed call</source>
        <translation>Vorgeschlagener Aufruf</translation>
    </message>
    <message>
        <source>Restore</source>
        <translation>Zurücksetzen</translation>
    </message>
    <message>
        <source>What changed</source>
        <translation>Was sich geändert hat</translation>
    </message>
</context>
<context>
    <name>ApprovalDialog</name>
    <message>
        <source>Allow</source>
        <translation>Erlauben</translation>
    </message>
    <message>
        <source>Approval</source>
        <translation>Freigabe</translation>
    </message>
    <message>
        <source>Closing this leaves the question open in the conversation.</source>
        <translation>Beim Schließen bleibt die Frage in der Unterhaltung offen.</translation>
    </message>
    <message>
        <source>Deny</source>
        <translation>Ablehnen</translation>
    </message>
    <message>
        <source>If you deny: why, or what to do instead</source>
        <translation>Falls Sie ablehnen: warum, oder was stattdessen zu tun ist</translation>
    </message>
    <message>
        <source>Message to the agent if you deny</source>
        <translation>Nachricht an den Agenten, falls Sie ablehnen</translation>
    </message>
    <message>
        <source>The rule is not valid yet. Correct it, or allow only once</source>
        <translation>Noch keine gültige Regel. Berichtigen Sie eine, oder erlauben Sie es nur einmal</translation>
    </message>
</context>
<context>
    <name>ApprovalRequest</name>
    <message>
        <source> … {0} more characters</source>
        <translation> … {0} weitere Zeichen</translation>
    </message>
    <message numerus="yes">
        <source>%n files</source>
        <translation>
            <numerusform>%n Datei</numerusform>
            <numerusform>%n Dateien</numerusform>
        </translation>
    </message>
    <message>
        <source>The agent says: {0}</source>
        <translation>Der Agent sagt: {0}</translation>
    </message>
    <message>
        <source>The command contains invisible characters. It really is: {0}</source>
        <translation>Der Befehl enthält unsichtbare Zeichen. Tatsächlich lautet er: {0}</translation>
    </message>
    <message>
        <source>The sub-agent “{0}” asks.</source>
        <translation>Der Unteragent „{0}“ fragt.</translation>
    </message>
    <message>
        <source>in the workspace</source>
        <translation>im Arbeitsordner</translation>
    </message>
    <message>
        <source>in {0}</source>
        <translation>in {0}</translation>
    </message>
    <message>
        <source>inside the workspace</source>
        <translation>im Arbeitsordner</translation>
    </message>
    <message>
        <source>outside the workspace</source>
        <translation>außerhalb des Arbeitsordners</translation>
    </message>
</context>
<context>
    <name>ApprovalsPage</name>
    <message>
        <source>For new sessions. Each session can choose its own below the message field.</source>
        <translation>Für neue Sitzungen. Jede Sitzung kann unter dem Eingabefeld ihre eigene Wahl treffen.</translation>
    </message>
    <message>
        <source>Sandbox</source>
        <translation>Sandbox</translation>
    </message>
    <message>
        <source>{0}: the project sets “{1}”, which applies here.</source>
        <translation>{0}: Das Projekt setzt „{1}“, und das gilt hier.</translation>
    </message>
</context>
<context>
    <name>ArrangeButton</name>
    <message>
        <source>Folder</source>
        <translation>Ordner</translation>
    </message>
    <message>
        <source>Group by</source>
        <translation>Gruppieren nach</translation>
    </message>
    <message>
        <source>How sessions are listed</source>
        <translation>Wie Sitzungen aufgelistet werden</translation>
    </message>
    <message>
        <source>Show turns and cost</source>
        <translation>Runden und Kosten anzeigen</translation>
    </message>
    <message>
        <source>State</source>
        <translation>Zustand</translation>
    </message>
    <message>
        <source>This folder first</source>
        <translation>Dieser Ordner zuerst</translation>
    </message>
    <message>
        <source>Time</source>
        <translation>Zeit</translation>
    </message>
    <message>
        <source>View ▾</source>
        <translation>Ansicht ▾</translation>
    </message>
</context>
<context>
    <name>AttachedContents</name>
    <message>
        <source>and {count} more</source>
        <translation>und {count} weitere</translation>
    </message>
</context>
<context>
    <name>Banner</name>
    <message>
        <source>Dismiss</source>
        <translation>Schließen</translation>
    </message>
    <message>
        <source>Open another folder…</source>
        <translation>Anderen Ordner öffnen …</translation>
    </message>
</context>
<context>
    <name>BannerFrame</name>
    <message>
        <source>And {0} more.</source>
        <translation>Und {0} weitere.</translation>
    </message>
</context>
<context>
    <name>BaselineModel</name>
    <message>
        <source>Against a branch</source>
        <translation>Gegen einen Branch</translation>
    </message>
    <message>
        <source>Against the worktree&apos;s base</source>
        <translation>Gegen die Basis des Worktrees</translation>
    </message>
    <message>
        <source>Against {0}</source>
        <translation>Gegen {0}</translation>
    </message>
    <message>
        <source>Last turn</source>
        <translation>Letzte Runde</translation>
    </message>
    <message>
        <source>Last turn ({0})</source>
        <translation>Letzte Runde ({0})</translation>
    </message>
    <message>
        <source>Looking…</source>
        <translation>Sucht …</translation>
    </message>
    <message>
        <source>No git repository</source>
        <translation>Kein git-Repository</translation>
    </message>
    <message>
        <source>Since message {0}</source>
        <translation>Seit Nachricht {0}</translation>
    </message>
    <message>
        <source>Since message {0}: {1}</source>
        <translation>Seit Nachricht {0}: {1}</translation>
    </message>
    <message>
        <source>There is no other branch</source>
        <translation>Es gibt keinen anderen Branch</translation>
    </message>
    <message>
        <source>This session</source>
        <translation>Diese Sitzung</translation>
    </message>
    <message>
        <source>Turn {0}</source>
        <translation>Runde {0}</translation>
    </message>
    <message>
        <source>Turn {0}: {1}</source>
        <translation>Runde {0}: {1}</translation>
    </message>
    <message>
        <source>Uncommitted</source>
        <translation>Nicht committet</translation>
    </message>
    <message>
        <source>git failed</source>
        <translation>git ist fehlgeschlagen</translation>
    </message>
    <message>
        <source>git is not installed</source>
        <translation>git ist nicht installiert</translation>
    </message>
    <message>
        <source>git took too long</source>
        <translation>git brauchte zu lange</translation>
    </message>
</context>
<context>
    <name>BaselinePicker</name>
    <message>
        <source>Changes to review</source>
        <translation>Zu prüfende Änderungen</translation>
    </message>
</context>
<context>
    <name>BinaryView</name>
    <message>
        <source>After</source>
        <translation>Nachher</translation>
    </message>
    <message>
        <source>BLAKE2</source>
        <translation>BLAKE2</translation>
    </message>
    <message>
        <source>Before</source>
        <translation>Vorher</translation>
    </message>
    <message>
        <source>Bytes before and after</source>
        <translation>Bytes vorher und nachher</translation>
    </message>
    <message>
        <source>First bytes</source>
        <translation>Erste Bytes</translation>
    </message>
    <message>
        <source>First difference at byte {0}</source>
        <translation>Erster Unterschied bei Byte {0}</translation>
    </message>
    <message>
        <source>Identical. First bytes</source>
        <translation>Identisch. Erste Bytes</translation>
    </message>
    <message>
        <source>It is empty</source>
        <translation>Sie ist leer</translation>
    </message>
    <message>
        <source>Size</source>
        <translation>Größe</translation>
    </message>
    <message>
        <source>Type</source>
        <translation>Typ</translation>
    </message>
</context>
<context>
    <name>BranchPopup</name>
    <message>
        <source>Branches</source>
        <translation>Branches</translation>
    </message>
    <message>
        <source>New branch “{0}”</source>
        <translation>Neuer Branch „{0}“</translation>
    </message>
    <message>
        <source>New branch…</source>
        <translation>Neuer Branch …</translation>
    </message>
    <message>
        <source>Push…</source>
        <translation>Pushen …</translation>
    </message>
    <message>
        <source>Stop pushing</source>
        <translation>Push anhalten</translation>
    </message>
    <message>
        <source>Switch to a branch, or name a new one</source>
        <translation>Zu einem Branch wechseln oder einen neuen benennen</translation>
    </message>
    <message>
        <source>Type the name of the new branch, and press Enter. It begins at what is checked out.</source>
        <translation>Geben Sie den Namen des neuen Branches ein, und drücken Sie die Eingabetaste. Er beginnt bei dem, was ausgecheckt ist.</translation>
    </message>
</context>
<context>
    <name>Branches</name>
    <message numerus="yes">
        <source>%n commits</source>
        <translation>
            <numerusform>%n Commit</numerusform>
            <numerusform>%n Commits</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n commits ahead</source>
        <translation>
            <numerusform>%n Commit voraus</numerusform>
            <numerusform>%n Commits voraus</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n commits behind</source>
        <translation>
            <numerusform>%n Commit zurück</numerusform>
            <numerusform>%n Commits zurück</numerusform>
        </translation>
    </message>
    <message>
        <source>No branch is checked out. You are at the commit {0}.</source>
        <translation>Es ist kein Branch ausgecheckt. Sie sind beim Commit {0}.</translation>
    </message>
    <message>
        <source>Push</source>
        <translation>Pushen</translation>
    </message>
    <message>
        <source>Pushing {0} to {1}…</source>
        <translation>{0} wird zu {1} gepusht …</translation>
    </message>
    <message>
        <source>Switching to {0}…</source>
        <translation>Wechsel zu {0} …</translation>
    </message>
    <message>
        <source>The push was stopped. {0} may have the commits already.</source>
        <translation>Der Push wurde angehalten. {0} hat die Commits vielleicht schon.</translation>
    </message>
    <message>
        <source>checked out</source>
        <translation>ausgecheckt</translation>
    </message>
    <message>
        <source>nothing to push or pull</source>
        <translation>nichts zu pushen oder zu holen</translation>
    </message>
    <message>
        <source>{0} follows no branch of a remote.</source>
        <translation>{0} folgt keinem Branch eines Remotes.</translation>
    </message>
    <message>
        <source>{0} follows {1}: {2}</source>
        <translation>{0} folgt {1}: {2}</translation>
    </message>
    <message>
        <source>{0} was pushed to {1}.</source>
        <translation>{0} wurde zu {1} gepusht.</translation>
    </message>
    <message numerus="yes">
        <source>… and %n more</source>
        <translation>
            <numerusform>… und %n weiterer</numerusform>
            <numerusform>… und %n weitere</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>BrowserWait</name>
    <message>
        <source>Sign-in address</source>
        <translation>Adresse der Anmeldung</translation>
    </message>
    <message>
        <source>Copied</source>
        <translation>Kopiert</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>Kopieren</translation>
    </message>
    <message>
        <source>Copy the address</source>
        <translation>Adresse kopieren</translation>
    </message>
    <message>
        <source>No browser could be opened.</source>
        <translation>Es konnte kein Browser geöffnet werden.</translation>
    </message>
    <message>
        <source>Open this address in a browser on this machine, within 10 minutes:</source>
        <translation>Öffnen Sie diese Adresse innerhalb von 10 Minuten in einem Browser auf diesem Rechner:</translation>
    </message>
    <message>
        <source>Sign in there within 10 minutes. If no browser opened, open this address:</source>
        <translation>Melden Sie sich dort innerhalb von 10 Minuten an. Falls sich kein Browser geöffnet hat, öffnen Sie diese Adresse:</translation>
    </message>
    <message>
        <source>Waiting for the browser…</source>
        <translation>Wartet auf den Browser …</translation>
    </message>
</context>
<context>
    <name>CacheMiss</name>
    <message>
        <source>About {0} tokens of the last turn were not in the provider&apos;s cache: {1}.</source>
        <translation>Etwa {0} Token der letzten Runde waren nicht im Cache des Anbieters: {1}.</translation>
    </message>
    <message>
        <source>The last turn was not in the provider&apos;s cache: {0}.</source>
        <translation>Die letzte Runde war nicht im Cache des Anbieters: {0}.</translation>
    </message>
    <message>
        <source>an option of the request changed</source>
        <translation>eine Option der Anfrage hat sich geändert</translation>
    </message>
    <message>
        <source>the provider does not say why, and keeps its cache only briefly</source>
        <translation>er sagt nicht warum, und behält nichts lange</translation>
    </message>
    <message>
        <source>older turns were summarised</source>
        <translation>ältere Runden wurden zusammengefasst</translation>
    </message>
    <message>
        <source>the earlier conversation changed</source>
        <translation>die frühere Unterhaltung hat sich geändert</translation>
    </message>
    <message>
        <source>the instructions changed</source>
        <translation>die Anweisungen haben sich geändert</translation>
    </message>
    <message>
        <source>the model changed</source>
        <translation>das Modell hat gewechselt</translation>
    </message>
    <message>
        <source>the tools changed</source>
        <translation>die Werkzeuge haben sich geändert</translation>
    </message>
</context>
<context>
    <name>CallButtons</name>
    <message>
        <source>Recover</source>
        <translation>Zurückholen</translation>
    </message>
    <message>
        <source>Recover. {what}</source>
        <translation>Zurückholen. {what}</translation>
    </message>
    <message>
        <source>Show change</source>
        <translation>Änderung anzeigen</translation>
    </message>
    <message>
        <source>Show change ▸</source>
        <translation>Änderung anzeigen ▸</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>Anhalten</translation>
    </message>
    <message>
        <source>Stop this sub-agent</source>
        <translation>Diesen Unteragenten anhalten</translation>
    </message>
    <message>
        <source>Stop this turn</source>
        <translation>Diese Runde anhalten</translation>
    </message>
</context>
<context>
    <name>CallList</name>
    <message>
        <source>Answered</source>
        <translation>Beantwortet</translation>
    </message>
</context>
<context>
    <name>CardAnswers</name>
    <message>
        <source>Allow once</source>
        <translation>Einmal erlauben</translation>
    </message>
    <message>
        <source>Deny…</source>
        <translation>Ablehnen …</translation>
    </message>
    <message>
        <source>Review…</source>
        <translation>Prüfen …</translation>
    </message>
    <message>
        <source>{keys} denies at once</source>
        <translation>{keys} lehnt sofort ab</translation>
    </message>
    <message>
        <source>Back</source>
        <translation>Zurück</translation>
    </message>
    <message>
        <source>Deny</source>
        <translation>Ablehnen</translation>
    </message>
    <message>
        <source>Message to the agent</source>
        <translation>Nachricht an den Agenten</translation>
    </message>
    <message>
        <source>Reason for the agent (optional)</source>
        <translation>Begründung für den Agenten (optional)</translation>
    </message>
</context>
<context>
    <name>ChangeField</name>
    <message>
        <source>It cannot be allowed without being shown.</source>
        <translation>Ohne Anzeige kann sie nicht erlaubt werden.</translation>
    </message>
    <message>
        <source>The change could not be shown</source>
        <translation>Die Änderung konnte nicht angezeigt werden</translation>
    </message>
    <message>
        <source>What would change</source>
        <translation>Was sich ändern würde</translation>
    </message>
</context>
<context>
    <name>ChangeListing</name>
    <message numerus="yes">
        <source>%n lines added</source>
        <translation>
            <numerusform>%n Zeile hinzugefügt</numerusform>
            <numerusform>%n Zeilen hinzugefügt</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n lines removed</source>
        <translation>
            <numerusform>%n Zeile entfernt</numerusform>
            <numerusform>%n Zeilen entfernt</numerusform>
        </translation>
    </message>
    <message>
        <source>Filter by path</source>
        <translation>Nach Pfad filtern</translation>
    </message>
    <message>
        <source>Filter the files by path</source>
        <translation>Die Dateien nach Pfad filtern</translation>
    </message>
    <message>
        <source>Looking…</source>
        <translation>Sucht …</translation>
    </message>
    <message>
        <source>No changed file matches.</source>
        <translation>Keine geänderte Datei passt.</translation>
    </message>
    <message>
        <source>No differences: the files on disk are as committed.</source>
        <translation>Keine Unterschiede: Die Dateien auf der Platte sind wie committet.</translation>
    </message>
    <message>
        <source>Nothing changed here.</source>
        <translation>Hier hat sich nichts geändert.</translation>
    </message>
    <message>
        <source>Show all files</source>
        <translation>Alle Dateien anzeigen</translation>
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
        <translation>ein Server oder Sie</translation>
    </message>
    <message>
        <source>agent</source>
        <translation>Agent</translation>
    </message>
    <message>
        <source>binary</source>
        <translation>binär</translation>
    </message>
    <message>
        <source>deleted</source>
        <translation>gelöscht</translation>
    </message>
    <message>
        <source>folder</source>
        <translation>Ordner</translation>
    </message>
    <message>
        <source>in conflict</source>
        <translation>im Konflikt</translation>
    </message>
    <message>
        <source>kept</source>
        <translation>behalten</translation>
    </message>
    <message>
        <source>link</source>
        <translation>Verknüpfung</translation>
    </message>
    <message>
        <source>named pipe</source>
        <translation>benannte Pipe</translation>
    </message>
    <message>
        <source>new</source>
        <translation>neu</translation>
    </message>
    <message>
        <source>not brought back</source>
        <translation>nicht zurückgeholt</translation>
    </message>
    <message>
        <source>partly decided</source>
        <translation>teilweise entschieden</translation>
    </message>
    <message>
        <source>renamed from {0}</source>
        <translation>umbenannt von {0}</translation>
    </message>
    <message>
        <source>shell</source>
        <translation>Shell</translation>
    </message>
    <message>
        <source>socket</source>
        <translation>Socket</translation>
    </message>
    <message>
        <source>undecided</source>
        <translation>unentschieden</translation>
    </message>
    <message>
        <source>undone</source>
        <translation>rückgängig gemacht</translation>
    </message>
    <message>
        <source>you</source>
        <translation>Sie</translation>
    </message>
    <message>
        <source>{0} added, {1} removed</source>
        <translation>{0} hinzugefügt, {1} entfernt</translation>
    </message>
    <message numerus="yes">
        <source>{0} of %n changes decided</source>
        <translation>
            <numerusform>{0} von %n Änderung entschieden</numerusform>
            <numerusform>{0} von %n Änderungen entschieden</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>ChangePreview</name>
    <message>
        <source>Files that would change</source>
        <translation>Dateien, die sich ändern würden</translation>
    </message>
    <message>
        <source>It cannot be allowed without being shown.</source>
        <translation>Ohne Anzeige kann sie nicht erlaubt werden.</translation>
    </message>
    <message>
        <source>Loading…</source>
        <translation>Wird geladen …</translation>
    </message>
    <message>
        <source>The change could not be shown</source>
        <translation>Die Änderung konnte nicht angezeigt werden</translation>
    </message>
</context>
<context>
    <name>ChangedFileList</name>
    <message>
        <source>Bring this file back</source>
        <translation>Diese Datei zurückholen</translation>
    </message>
    <message>
        <source>Changed files</source>
        <translation>Geänderte Dateien</translation>
    </message>
    <message>
        <source>Decide again</source>
        <translation>Neu entscheiden</translation>
    </message>
    <message>
        <source>Keep this file</source>
        <translation>Diese Datei behalten</translation>
    </message>
    <message>
        <source>Open file</source>
        <translation>Datei öffnen</translation>
    </message>
    <message>
        <source>Redo this file</source>
        <translation>Diese Datei wiederherstellen</translation>
    </message>
    <message>
        <source>Show the call</source>
        <translation>Aufruf anzeigen</translation>
    </message>
    <message>
        <source>Undo this file</source>
        <translation>Diese Datei rückgängig machen</translation>
    </message>
    <message>
        <source>Undo this file with a message to the agent…</source>
        <translation>Diese Datei rückgängig machen, mit Nachricht an den Agenten …</translation>
    </message>
</context>
<context>
    <name>ChooseStep</name>
    <message>
        <source>Claude through AWS, Google or Microsoft</source>
        <translation>Claude über AWS, Google oder Microsoft</translation>
    </message>
    <message>
        <source>Continue</source>
        <translation>Weiter</translation>
    </message>
    <message>
        <source>Enter a key…</source>
        <translation>Schlüssel eingeben …</translation>
    </message>
    <message>
        <source>Enter an API key</source>
        <translation>API-Schlüssel eingeben</translation>
    </message>
    <message>
        <source>For Anthropic, OpenAI, OpenRouter or xAI. Kept in your system keyring, and nowhere else.</source>
        <translation>Für Anthropic, OpenAI, OpenRouter oder xAI. Liegt im Schlüsselbund Ihres Systems, und nirgends sonst.</translation>
    </message>
    <message>
        <source>It needs no key here. What it changes can be reviewed and undone.</source>
        <translation>Braucht hier keinen Schlüssel. Was er ändert, lässt sich zurücknehmen.</translation>
    </message>
    <message>
        <source>Look for models…</source>
        <translation>Nach Modellen suchen …</translation>
    </message>
    <message>
        <source>No key, no network. A scripted model works on a small project with real tools.</source>
        <translation>Kein Schlüssel, kein Netz. Ein Modell nach Drehbuch arbeitet mit echten Werkzeugen an einem kleinen Projekt.</translation>
    </message>
    <message>
        <source>OpenRouter or another address</source>
        <translation>OpenRouter oder eine andere Adresse</translation>
    </message>
    <message>
        <source>Sign in with OpenRouter, or enter the address of any compatible server.</source>
        <translation>Melden Sie sich bei OpenRouter an, oder geben Sie die Adresse eines kompatiblen Servers ein.</translation>
    </message>
    <message>
        <source>Sign in with your ChatGPT plan, or use a profile of Anthropic&apos;s tools.</source>
        <translation>Melden Sie sich mit Ihrem ChatGPT-Tarif an, oder nutzen Sie ein Profil von Anthropics Werkzeugen.</translation>
    </message>
    <message>
        <source>Start the demo</source>
        <translation>Demo starten</translation>
    </message>
    <message>
        <source>Try the demo</source>
        <translation>Demo ausprobieren</translation>
    </message>
    <message>
        <source>Use a model on this machine</source>
        <translation>Ein Modell auf diesem Rechner verwenden</translation>
    </message>
    <message>
        <source>Use a subscription</source>
        <translation>Abonnement verwenden</translation>
    </message>
    <message>
        <source>Use this agent</source>
        <translation>Diesen Agenten verwenden</translation>
    </message>
    <message>
        <source>Use {0}, which is installed</source>
        <translation>{0} verwenden, das installiert ist</translation>
    </message>
    <message>
        <source>Welcome. Choose a model</source>
        <translation>Willkommen. Wählen Sie ein Modell</translation>
    </message>
    <message>
        <source>With Ollama, LM Studio or llama.cpp. No key, and nothing leaves this machine.</source>
        <translation>Mit Ollama, LM Studio oder llama.cpp. Kein Schlüssel, alles bleibt hier.</translation>
    </message>
    <message>
        <source>With the credentials of the cloud&apos;s own tools, or with a key.</source>
        <translation>Mit den Zugangsdaten der Cloud-Werkzeuge oder mit einem Schlüssel.</translation>
    </message>
    <message>
        <source>You can change this at any time in Settings.</source>
        <translation>Sie können das jederzeit in den Einstellungen ändern.</translation>
    </message>
</context>
<context>
    <name>ClashDialog</name>
    <message numerus="yes">
        <source>%n other files are done.</source>
        <translation>
            <numerusform>%n andere Datei ist erledigt.</numerusform>
            <numerusform>%n andere Dateien sind erledigt.</numerusform>
        </translation>
    </message>
    <message>
        <source>A server&apos;s, or yours</source>
        <translation>Eines Servers oder Ihre</translation>
    </message>
    <message>
        <source>After redo</source>
        <translation>Nach dem Wiederherstellen</translation>
    </message>
    <message>
        <source>After undo</source>
        <translation>Nach dem Rückgängigmachen</translation>
    </message>
    <message>
        <source>Agent&apos;s version</source>
        <translation>Fassung des Agenten</translation>
    </message>
    <message>
        <source>Another session&apos;s</source>
        <translation>Einer anderen Sitzung</translation>
    </message>
    <message>
        <source>Both, disk version last</source>
        <translation>Beide, Plattenfassung zuletzt</translation>
    </message>
    <message>
        <source>Both, yours last</source>
        <translation>Beide, Ihre zuletzt</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>Schließen</translation>
    </message>
    <message>
        <source>Files left alone</source>
        <translation>Unberührte Dateien</translation>
    </message>
    <message>
        <source>Keep disk version</source>
        <translation>Plattenfassung behalten</translation>
    </message>
    <message>
        <source>Keep it as it is</source>
        <translation>So lassen, wie es ist</translation>
    </message>
    <message>
        <source>Keep mine</source>
        <translation>Meine behalten</translation>
    </message>
    <message>
        <source>Redo conflicts with {0}</source>
        <translation>Das Wiederherstellen widerspricht {0}</translation>
    </message>
    <message>
        <source>Redo of turn {0}</source>
        <translation>Wiederherstellen von Runde {0}</translation>
    </message>
    <message>
        <source>Turn {0}</source>
        <translation>Runde {0}</translation>
    </message>
    <message>
        <source>Turns {0}</source>
        <translation>Runden {0}</translation>
    </message>
    <message>
        <source>Undo conflicts with {0}</source>
        <translation>Das Rückgängigmachen widerspricht {0}</translation>
    </message>
    <message>
        <source>Undo of turn {0}</source>
        <translation>Rückgängigmachen von Runde {0}</translation>
    </message>
    <message>
        <source>Without the change</source>
        <translation>Ohne die Änderung</translation>
    </message>
    <message>
        <source>the result can be written once all clashes are decided</source>
        <translation>das Ergebnis kann geschrieben werden, sobald alle entschieden sind</translation>
    </message>
    <message numerus="yes">
        <source>%n clashes are left to decide: numbers {0}.</source>
        <translation>
            <numerusform>%n Konflikt ist noch zu entscheiden: Nummer {0}.</numerusform>
            <numerusform>%n Konflikte sind noch zu entscheiden: Nummern {0}.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n other places in the file merge without a clash.</source>
        <translation>
            <numerusform>%n andere Stelle darin lässt sich ohne Konflikt zusammenführen.</numerusform>
            <numerusform>%n andere Stellen darin lassen sich ohne Konflikt zusammenführen.</numerusform>
        </translation>
    </message>
    <message>
        <source>A character does not fit the encoding of this file.</source>
        <translation>Ein Zeichen passt nicht in die Kodierung dieser Datei.</translation>
    </message>
    <message>
        <source>Keep yours</source>
        <translation>Ihre behalten</translation>
    </message>
    <message>
        <source>Not redone</source>
        <translation>Nicht wiederhergestellt</translation>
    </message>
    <message>
        <source>Not undone</source>
        <translation>Nicht rückgängig gemacht</translation>
    </message>
    <message>
        <source>On disk</source>
        <translation>Auf der Platte</translation>
    </message>
    <message>
        <source>Reading the three versions…</source>
        <translation>Die drei Fassungen werden gelesen …</translation>
    </message>
    <message>
        <source>Remove the file</source>
        <translation>Datei entfernen</translation>
    </message>
    <message>
        <source>These files were not written.</source>
        <translation>Diese Dateien wurden nicht geschrieben.</translation>
    </message>
    <message>
        <source>Use the redone version</source>
        <translation>Wiederhergestellte Fassung verwenden</translation>
    </message>
    <message>
        <source>Use the undone version</source>
        <translation>Rückgängig gemachte Fassung verwenden</translation>
    </message>
    <message>
        <source>Write this result</source>
        <translation>Dieses Ergebnis schreiben</translation>
    </message>
    <message>
        <source>Yours</source>
        <translation>Ihre</translation>
    </message>
    <message>
        <source>another session</source>
        <translation>einer anderen Sitzung</translation>
    </message>
    <message>
        <source>changes by a server or by you</source>
        <translation>Änderungen eines Servers oder von Ihnen</translation>
    </message>
    <message>
        <source>kept as it is</source>
        <translation>unverändert gelassen</translation>
    </message>
    <message>
        <source>later changes</source>
        <translation>späteren Änderungen</translation>
    </message>
    <message>
        <source>removed</source>
        <translation>entfernt</translation>
    </message>
    <message>
        <source>the redo of turn {0}</source>
        <translation>dem Wiederherstellen von Runde {0}</translation>
    </message>
    <message>
        <source>the undo of turn {0}</source>
        <translation>dem Rückgängigmachen von Runde {0}</translation>
    </message>
    <message>
        <source>turn {0}</source>
        <translation>Runde {0}</translation>
    </message>
    <message>
        <source>turns {0}</source>
        <translation>den Runden {0}</translation>
    </message>
    <message>
        <source>written</source>
        <translation>geschrieben</translation>
    </message>
    <message>
        <source>your edit</source>
        <translation>Ihrer Änderung</translation>
    </message>
    <message>
        <source>{0} (on disk)</source>
        <translation>{0} (auf der Platte)</translation>
    </message>
    <message numerus="yes">
        <source>{0} of %n clashes decided</source>
        <translation>
            <numerusform>{0} von %n Konflikt entschieden</numerusform>
            <numerusform>{0} von %n Konflikten entschieden</numerusform>
        </translation>
    </message>
    <message>
        <source>{0}. Nothing has been written to it.</source>
        <translation>{0}. Es wurde nichts hineingeschrieben.</translation>
    </message>
</context>
<context>
    <name>ClashPage</name>
    <message>
        <source>Clash {0} of {1}</source>
        <translation>Konflikt {0} von {1}</translation>
    </message>
    <message>
        <source>Next clash</source>
        <translation>Nächster Konflikt</translation>
    </message>
    <message>
        <source>Next clash (F7)</source>
        <translation>Nächster Konflikt (F7)</translation>
    </message>
    <message>
        <source>Previous clash</source>
        <translation>Vorheriger Konflikt</translation>
    </message>
    <message>
        <source>Previous clash (Shift+F7)</source>
        <translation>Vorheriger Konflikt (Umschalt+F7)</translation>
    </message>
    <message>
        <source>Result to be written</source>
        <translation>Ergebnis, wie es geschrieben werden kann</translation>
    </message>
    <message>
        <source>Take the redo</source>
        <translation>Wiederhergestellte nehmen</translation>
    </message>
    <message>
        <source>Take the undo</source>
        <translation>Rückgängig gemachte nehmen</translation>
    </message>
    <message>
        <source>The result to be written</source>
        <translation>Das Ergebnis, das geschrieben werden kann</translation>
    </message>
    <message>
        <source>The three versions</source>
        <translation>Die drei Fassungen</translation>
    </message>
    <message>
        <source>edited by hand</source>
        <translation>von Hand bearbeitet</translation>
    </message>
</context>
<context>
    <name>ClearableLine</name>
    <message>
        <source>Clear the text</source>
        <translation>Text löschen</translation>
    </message>
</context>
<context>
    <name>CloudFields</name>
    <message>
        <source>A profile of the AWS tools. Empty: the default profile.</source>
        <translation>Ein Profil der AWS-Werkzeuge. Leer: das Standardprofil.</translation>
    </message>
    <message>
        <source>An API key</source>
        <translation>Ein API-Schlüssel</translation>
    </message>
    <message>
        <source>As the Claude Console shows it.</source>
        <translation>Wie die Claude Console sie zeigt.</translation>
    </message>
    <message>
        <source>Credentials</source>
        <translation>Zugangsdaten</translation>
    </message>
    <message>
        <source>For example: {0}</source>
        <translation>Zum Beispiel: {0}</translation>
    </message>
    <message>
        <source>It is kept in your system keyring, and nowhere else.</source>
        <translation>Er liegt in Ihrem Schlüsselbund und nirgends sonst.</translation>
    </message>
    <message>
        <source>Missing: {0}.</source>
        <translation>Es fehlt: {0}.</translation>
    </message>
    <message>
        <source>Profile</source>
        <translation>Profil</translation>
    </message>
    <message>
        <source>Project</source>
        <translation>Projekt</translation>
    </message>
    <message>
        <source>Region</source>
        <translation>Region</translation>
    </message>
    <message>
        <source>Resource</source>
        <translation>Ressource</translation>
    </message>
    <message>
        <source>The ID of the project that pays. Empty: the project of the sign-in.</source>
        <translation>Die ID des Projekts, das bezahlt. Leer: das Projekt der Anmeldung.</translation>
    </message>
    <message>
        <source>The account cannot be used: {0}.</source>
        <translation>Das Konto kann nicht verwendet werden: {0}.</translation>
    </message>
    <message>
        <source>The first part of the address, before .services.ai.azure.com.</source>
        <translation>Der erste Teil der Adresse, vor .services.ai.azure.com.</translation>
    </message>
    <message>
        <source>Those of the AWS tools</source>
        <translation>Die der AWS-Werkzeuge</translation>
    </message>
    <message>
        <source>Those of the Azure tools</source>
        <translation>Die der Azure-Werkzeuge</translation>
    </message>
    <message>
        <source>Those of the Google Cloud tools</source>
        <translation>Die der Google-Cloud-Werkzeuge</translation>
    </message>
    <message>
        <source>Where you have access to Claude.</source>
        <translation>Wo Sie Zugang zu Claude haben.</translation>
    </message>
    <message>
        <source>Where you have access to Claude. Empty: the region of the profile.</source>
        <translation>Wo Sie Zugang zu Claude haben. Leer: die Region des Profils.</translation>
    </message>
    <message>
        <source>Workspace ID</source>
        <translation>Workspace-ID</translation>
    </message>
</context>
<context>
    <name>CloudStep</name>
    <message>
        <source>API key</source>
        <translation>API-Schlüssel</translation>
    </message>
    <message>
        <source>Check and continue</source>
        <translation>Prüfen und weiter</translation>
    </message>
    <message>
        <source>Claude through AWS, Google or Microsoft</source>
        <translation>Claude über AWS, Google oder Microsoft</translation>
    </message>
    <message>
        <source>Cloud</source>
        <translation>Cloud</translation>
    </message>
    <message>
        <source>Leave it empty to use the key in {0}.</source>
        <translation>Leer lassen, um den Schlüssel in {0} zu verwenden.</translation>
    </message>
    <message>
        <source>The check shows where requests go, and as whom. It asks no model, so it costs nothing.</source>
        <translation>Die Prüfung zeigt, wohin Anfragen gehen und in wessen Namen. Sie fragt kein Modell und kostet daher nichts.</translation>
    </message>
</context>
<context>
    <name>CodeApplying</name>
    <message>
        <source>No folder is open</source>
        <translation>Es ist kein Ordner geöffnet</translation>
    </message>
    <message>
        <source>Open one first.</source>
        <translation>Öffnen Sie zuerst einen.</translation>
    </message>
    <message>
        <source>This conversation cannot be changed here.</source>
        <translation>Diese Unterhaltung kann hier nicht geändert werden.</translation>
    </message>
</context>
<context>
    <name>ColumnPlot</name>
    <message>
        <source>price of {0} not known</source>
        <translation>Preis von {0} nicht bekannt</translation>
    </message>
</context>
<context>
    <name>CommandEdit</name>
    <message>
        <source>Command</source>
        <translation>Befehl</translation>
    </message>
    <message>
        <source>Go back to the agent&apos;s command</source>
        <translation>Zurück zum Befehl des Agenten</translation>
    </message>
    <message>
        <source>Modified by you. The agent sees your change.</source>
        <translation>Von Ihnen geändert. Der Agent sieht Ihre Änderung.</translation>
    </message>
    <message>
        <source>Reason for the question: {0}</source>
        <translation>Grund der Frage: {0}</translation>
    </message>
    <message>
        <source>Restore</source>
        <translation>Zurücksetzen</translation>
    </message>
</context>
<context>
    <name>CommandPalette</name>
    <message>
        <source>Begin with {0}</source>
        <translation>Mit {0} beginnen</translation>
    </message>
    <message>
        <source>Command palette</source>
        <translation>Befehlspalette</translation>
    </message>
    <message>
        <source>Go to a file by parts of its path</source>
        <translation>Über Teile des Pfads zu einer Datei gehen</translation>
    </message>
    <message>
        <source>Search actions, settings, commands, sessions and files</source>
        <translation>Aktionen, Einstellungen, Befehle, Sitzungen und Dateien suchen</translation>
    </message>
    <message>
        <source>Matches</source>
        <translation>Was passt</translation>
    </message>
    <message>
        <source>actions</source>
        <translation>Aktionen</translation>
    </message>
    <message>
        <source>commands</source>
        <translation>Befehle</translation>
    </message>
    <message>
        <source>keys</source>
        <translation>Tasten</translation>
    </message>
    <message>
        <source>sessions</source>
        <translation>Sitzungen</translation>
    </message>
    <message>
        <source>settings</source>
        <translation>Einstellungen</translation>
    </message>
</context>
<context>
    <name>CommandPopup</name>
    <message>
        <source>Commands</source>
        <translation>Befehle</translation>
    </message>
</context>
<context>
    <name>CommandWidget</name>
    <message>
        <source>Command {text} failed: {output}</source>
        <translation>Befehl {text} ist fehlgeschlagen: {output}</translation>
    </message>
    <message>
        <source>Command {text}: {output}</source>
        <translation>Befehl {text}: {output}</translation>
    </message>
</context>
<context>
    <name>CommentCard</name>
    <message>
        <source>Edit</source>
        <translation>Bearbeiten</translation>
    </message>
    <message>
        <source>Edit the comment: {0}</source>
        <translation>Kommentar bearbeiten: {0}</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>Entfernen</translation>
    </message>
    <message>
        <source>Remove the comment: {0}</source>
        <translation>Kommentar entfernen: {0}</translation>
    </message>
    <message>
        <source>{0} · no longer there</source>
        <translation>{0} · nicht mehr da</translation>
    </message>
</context>
<context>
    <name>CommentEditor</name>
    <message>
        <source>Add comment</source>
        <translation>Kommentar hinzufügen</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Cancel (Esc)</source>
        <translation>Abbrechen (Esc)</translation>
    </message>
    <message>
        <source>Ctrl+Enter</source>
        <translation>Strg+Enter</translation>
    </message>
    <message>
        <source>Save</source>
        <translation>Speichern</translation>
    </message>
    <message>
        <source>Save the comment (Ctrl+Enter)</source>
        <translation>Kommentar speichern (Strg+Enter)</translation>
    </message>
    <message>
        <source>What should be different?</source>
        <translation>Was soll anders sein?</translation>
    </message>
</context>
<context>
    <name>CommentOverlay</name>
    <message>
        <source>Comment on this line, or drag over several</source>
        <translation>Diese Zeile kommentieren, oder über mehrere ziehen</translation>
    </message>
</context>
<context>
    <name>CommentsDialog</name>
    <message numerus="yes">
        <source>%n comments</source>
        <translation>
            <numerusform>%n Kommentar</numerusform>
            <numerusform>%n Kommentare</numerusform>
        </translation>
    </message>
    <message>
        <source>, before</source>
        <translation>, vorher</translation>
    </message>
    <message>
        <source>Comments</source>
        <translation>Kommentare</translation>
    </message>
    <message>
        <source>Introduction (optional)</source>
        <translation>Einleitung (optional)</translation>
    </message>
    <message>
        <source>Introduction to the comments</source>
        <translation>Einleitung zu den Kommentaren</translation>
    </message>
    <message>
        <source>Not now</source>
        <translation>Noch nicht</translation>
    </message>
    <message>
        <source>Plan</source>
        <translation>Plan</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>Entfernen</translation>
    </message>
    <message>
        <source>Remove the comment on {0}</source>
        <translation>Kommentar zu {0} entfernen</translation>
    </message>
    <message numerus="yes">
        <source>Send %n comments</source>
        <translation>
            <numerusform>Kommentar senden</numerusform>
            <numerusform>%n Kommentare senden</numerusform>
        </translation>
    </message>
    <message>
        <source>Send comments</source>
        <translation>Kommentare senden</translation>
    </message>
    <message>
        <source>The agent gets them as one message, with the lines they are about.</source>
        <translation>Der Agent erhält sie als eine Nachricht, mit den Zeilen, um die es geht.</translation>
    </message>
    <message>
        <source>line {0}</source>
        <translation>Zeile {0}</translation>
    </message>
    <message>
        <source>lines {0}–{1}</source>
        <translation>Zeilen {0}–{1}</translation>
    </message>
</context>
<context>
    <name>CommitSheet</name>
    <message numerus="yes">
        <source>%n changes are left out.</source>
        <translation>
            <numerusform>%n Änderung bleibt ausgelassen.</numerusform>
            <numerusform>%n Änderungen bleiben ausgelassen.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n files</source>
        <translation>
            <numerusform>%n Datei</numerusform>
            <numerusform>%n Dateien</numerusform>
        </translation>
    </message>
    <message>
        <source>Add “{0}”</source>
        <translation>„{0}“ anfügen</translation>
    </message>
    <message>
        <source>All</source>
        <translation>Alle</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Commit</source>
        <translation>Committen</translation>
    </message>
    <message>
        <source>Commit to {0}</source>
        <translation>Auf {0} committen</translation>
    </message>
    <message>
        <source>Commit, on no branch</source>
        <translation>Committen, auf keinem Branch</translation>
    </message>
    <message>
        <source>Committing…</source>
        <translation>Wird committet …</translation>
    </message>
    <message>
        <source>Draft</source>
        <translation>Entwerfen</translation>
    </message>
    <message>
        <source>Kept</source>
        <translation>Behaltene</translation>
    </message>
    <message>
        <source>Looking…</source>
        <translation>Sucht …</translation>
    </message>
    <message>
        <source>Message</source>
        <translation>Nachricht</translation>
    </message>
    <message>
        <source>Message of the commit</source>
        <translation>Nachricht des Commits</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>Anhalten</translation>
    </message>
    <message>
        <source>Subject, then an empty line, and the reason if it is not obvious</source>
        <translation>Betreff, dann eine Leerzeile und der Grund, falls er nicht klar ist</translation>
    </message>
    <message>
        <source>The model of this conversation writes the message, in the repository&apos;s style</source>
        <translation>Das Modell dieser Unterhaltung schreibt die Nachricht, im Stil des Repositorys</translation>
    </message>
    <message>
        <source>The model writes the message…</source>
        <translation>Das Modell schreibt die Nachricht …</translation>
    </message>
    <message>
        <source>The subject has {0} of {1} characters</source>
        <translation>Der Betreff hat {0} von {1} Zeichen</translation>
    </message>
    <message>
        <source>The subject is long: {0} of {1} characters</source>
        <translation>Der Betreff ist lang: {0} von {1} Zeichen</translation>
    </message>
    <message>
        <source>There is nothing to commit: git has these lines, or they are left out.</source>
        <translation>Es gibt nichts zu committen: git hat diese Zeilen schon, oder sie bleiben ausgelassen.</translation>
    </message>
    <message>
        <source>There is nothing to commit: what the review lists is committed or undone already.</source>
        <translation>Es gibt nichts zu committen: Was die Prüfung auflistet, ist schon committet oder rückgängig gemacht.</translation>
    </message>
    <message>
        <source>This file</source>
        <translation>Diese Datei</translation>
    </message>
    <message>
        <source>Tick everything that the review lists</source>
        <translation>Alles ankreuzen, was die Prüfung auflistet</translation>
    </message>
    <message>
        <source>Tick only {0}</source>
        <translation>Nur {0} ankreuzen</translation>
    </message>
    <message>
        <source>Tick what you decided to keep</source>
        <translation>Ankreuzen, was Sie behalten wollen</translation>
    </message>
    <message>
        <source>Tick what you want to commit.</source>
        <translation>Kreuzen Sie an, was Sie committen wollen.</translation>
    </message>
    <message>
        <source>What git and its hooks say</source>
        <translation>Was git und seine Hooks ausgeben</translation>
    </message>
    <message>
        <source>What is committed</source>
        <translation>Was committet wird</translation>
    </message>
    <message>
        <source>git does not know who you are. Run `git config --global user.name` and `user.email`.</source>
        <translation>git weiß nicht, wer Sie sind. Setzen Sie `git config --global user.name` und `user.email`.</translation>
    </message>
    <message>
        <source>runs {0}</source>
        <translation>führt {0} aus</translation>
    </message>
    <message>
        <source>signed</source>
        <translation>signiert</translation>
    </message>
    <message numerus="yes">
        <source>{0} of %n changes, in {1}</source>
        <translation>
            <numerusform>{0} von %n Änderung, in {1}</numerusform>
            <numerusform>{0} von %n Änderungen, in {1}</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>CompactionWidget</name>
    <message>
        <source>Edit…</source>
        <translation>Bearbeiten …</translation>
    </message>
    <message>
        <source>The agent sees the older turns in full again</source>
        <translation>Der Agent sieht die älteren Runden wieder im Wortlaut</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>Rückgängig machen</translation>
    </message>
    <message>
        <source>Undo the summary</source>
        <translation>Zusammenfassung rückgängig machen</translation>
    </message>
</context>
<context>
    <name>Composer</name>
    <message>
        <source>Ask for a change, or a question about this folder…</source>
        <translation>Bitten Sie um eine Änderung, oder fragen Sie etwas zu diesem Ordner …</translation>
    </message>
    <message>
        <source>Composer</source>
        <translation>Eingabefeld</translation>
    </message>
    <message>
        <source>Mention files…</source>
        <translation>Dateien erwähnen …</translation>
    </message>
    <message>
        <source>Mention files… (or type @)</source>
        <translation>Dateien erwähnen … (oder @ tippen)</translation>
    </message>
    <message>
        <source>Queue the next message…</source>
        <translation>Nächste Nachricht einreihen …</translation>
    </message>
    <message>
        <source>Queue the next message… {keys} sends it into this turn.</source>
        <translation>Nächste Nachricht einreihen … {keys} sendet sie in diese Runde.</translation>
    </message>
    <message>
        <source>Why not, or what to do instead…</source>
        <translation>Warum nicht, oder was stattdessen …</translation>
    </message>
    <message>
        <source>{keys} denies with this reason.</source>
        <translation>{keys} lehnt mit diesem Grund ab.</translation>
    </message>
    <message>
        <source>{keys} sends it into the turn and leaves the question open.</source>
        <translation>{keys} sendet ihn in diese Runde und lässt die Frage offen.</translation>
    </message>
</context>
<context>
    <name>Connections</name>
    <message>
        <source>Requests go to {0}. Credentials: {1}.</source>
        <translation>Anfragen gehen an {0}. Zugangsdaten: {1}.</translation>
    </message>
    <message>
        <source>{0} The key is kept for this run only.</source>
        <translation>{0} Der Schlüssel wird nur für diesen Lauf behalten.</translation>
    </message>
</context>
<context>
    <name>ContentChip</name>
    <message>
        <source>Cannot be shown</source>
        <translation>Nicht darstellbar</translation>
    </message>
</context>
<context>
    <name>Context</name>
    <message>
        <source>Conversation</source>
        <translation>Unterhaltung</translation>
    </message>
    <message>
        <source>From {0}. It is read again when a turn begins.</source>
        <translation>Aus {0}. Wird zu Beginn jeder Runde neu gelesen.</translation>
    </message>
    <message>
        <source>From {0}. You switched it off, so the agent does not get it.</source>
        <translation>Aus {0}. Von Ihnen abgeschaltet, daher bekommt der Agent es nicht.</translation>
    </message>
    <message>
        <source>Pictures</source>
        <translation>Bilder</translation>
    </message>
    <message>
        <source>Pins</source>
        <translation>Angeheftetes</translation>
    </message>
    <message>
        <source>Replaces the older turns. You can rewrite it: one point per line, under its heading.</source>
        <translation>Steht anstelle älterer Runden. Sie können sie umschreiben: ein Punkt pro Zeile, unter seiner Überschrift.</translation>
    </message>
    <message>
        <source>Summary</source>
        <translation>Zusammenfassung</translation>
    </message>
    <message>
        <source>System prompt</source>
        <translation>Systemprompt</translation>
    </message>
    <message>
        <source>The descriptions of the agent&apos;s tools.</source>
        <translation>Die Beschreibungen der Werkzeuge des Agenten.</translation>
    </message>
    <message>
        <source>The instructions the agent gets before everything else.</source>
        <translation>Die Anweisungen, die der Agent vor allem anderen erhält.</translation>
    </message>
    <message>
        <source>The newest pictures of the conversation. Older ones are left out.</source>
        <translation>Die neuesten Bilder der Unterhaltung. Ältere werden weggelassen.</translation>
    </message>
    <message>
        <source>Tools</source>
        <translation>Werkzeuge</translation>
    </message>
    <message>
        <source>Everything that was said, called and returned, in full.</source>
        <translation>Was gesagt, aufgerufen und geantwortet wurde, Wort für Wort.</translation>
    </message>
    <message>
        <source>What you pinned. It is sent with every request, after everything else.</source>
        <translation>Was Sie angeheftet haben. Es wird mit jeder Anfrage gesendet, nach allem anderen.</translation>
    </message>
</context>
<context>
    <name>ContextInspector</name>
    <message>
        <source>Close</source>
        <translation>Schließen</translation>
    </message>
    <message>
        <source>Keep above all… (optional)</source>
        <translation>Vor allem behalten … (optional)</translation>
    </message>
    <message>
        <source>Not sent</source>
        <translation>Nicht gesendet</translation>
    </message>
    <message>
        <source>Nothing was saved: write each point as a line “- …” under one of the headings.</source>
        <translation>Es wurde nichts gespeichert: Schreiben Sie jeden Punkt als Zeile „- …“ unter eine der Überschriften.</translation>
    </message>
    <message>
        <source>Pins</source>
        <translation>Angeheftetes</translation>
    </message>
    <message>
        <source>Repaired in the model&apos;s answers: {0}</source>
        <translation>In den Antworten des Modells berichtigt: {0}</translation>
    </message>
    <message>
        <source>Save summary</source>
        <translation>Zusammenfassung speichern</translation>
    </message>
    <message>
        <source>Send {0} to the model</source>
        <translation>{0} an das Modell senden</translation>
    </message>
    <message>
        <source>Sent</source>
        <translation>Gesendet</translation>
    </message>
    <message>
        <source>Summarise older turns</source>
        <translation>Ältere Runden zusammenfassen</translation>
    </message>
    <message>
        <source>Text of this part</source>
        <translation>Text dieses Teils</translation>
    </message>
    <message>
        <source>The agent sees the older turns in full again</source>
        <translation>Der Agent sieht die älteren Runden wieder im Wortlaut</translation>
    </message>
    <message>
        <source>Undo summary</source>
        <translation>Zusammenfassung zurücknehmen</translation>
    </message>
    <message>
        <source>What the model sees</source>
        <translation>Was das Modell sieht</translation>
    </message>
    <message>
        <source>What the summary should keep above all</source>
        <translation>Was die Zusammenfassung vor allem behalten soll</translation>
    </message>
    <message>
        <source>older turns are summarised above {0}</source>
        <translation>ältere Runden werden ab {0} zusammengefasst</translation>
    </message>
    <message>
        <source>older turns are summarised only when you ask</source>
        <translation>ältere Runden werden nur auf Ihren Wunsch zusammengefasst</translation>
    </message>
    <message>
        <source>{0} more tools of MCP servers (about {1} tokens) are not sent: the agent searches for those it needs.</source>
        <translation>{0} weitere Werkzeuge von MCP-Servern (etwa {1} Token) werden nicht gesendet: Der Agent sucht nach denen, die er braucht.</translation>
    </message>
    <message>
        <source>{0} of {1} tokens, {2} %</source>
        <translation>{0} von {1} Token, {2} %</translation>
    </message>
</context>
<context>
    <name>ContextMeter</name>
    <message numerus="yes">
        <source>%n tools of MCP servers are not sent: the agent searches for them.</source>
        <translation>
            <numerusform>%n Werkzeug von MCP-Servern ist der Suche überlassen.</numerusform>
            <numerusform>%n Werkzeuge von MCP-Servern sind der Suche überlassen.</numerusform>
        </translation>
    </message>
    <message>
        <source>About {0} of them are for tools of MCP servers.</source>
        <translation>Etwa {0} davon entfallen auf Werkzeuge von MCP-Servern.</translation>
    </message>
    <message>
        <source>Click to see what the model sees.</source>
        <translation>Klicken, um zu sehen, was das Modell sieht.</translation>
    </message>
    <message>
        <source>Context used</source>
        <translation>Belegter Kontext</translation>
    </message>
    <message>
        <source>The context window is nearly full.</source>
        <translation>Das Kontextfenster ist fast voll.</translation>
    </message>
    <message>
        <source>as the model reported it</source>
        <translation>wie das Modell es gemeldet hat</translation>
    </message>
    <message>
        <source>as the provider counted them</source>
        <translation>wie der Anbieter sie gezählt hat</translation>
    </message>
    <message>
        <source>ctx {0} %</source>
        <translation>Kontext {0} %</translation>
    </message>
    <message>
        <source>estimated</source>
        <translation>geschätzt</translation>
    </message>
    <message>
        <source>{0} of {1} tokens, {2}</source>
        <translation>{0} von {1} Token, {2}</translation>
    </message>
</context>
<context>
    <name>ControlRow</name>
    <message>
        <source>It starts when the turn has ended.</source>
        <translation>Sie beginnt, wenn die Runde beendet ist.</translation>
    </message>
    <message>
        <source>It starts when the turn has ended. {keys} sends it into the turn, which reads it at its next step.</source>
        <translation>Sie beginnt, wenn die Runde zu Ende ist. {keys} sendet sie in die Runde, die sie beim nächsten Schritt erhält.</translation>
    </message>
    <message>
        <source>Queue</source>
        <translation>Einreihen</translation>
    </message>
    <message>
        <source>Send</source>
        <translation>Senden</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>Anhalten</translation>
    </message>
    <message>
        <source>Stop this turn</source>
        <translation>Diese Runde anhalten</translation>
    </message>
</context>
<context>
    <name>ConversationPane</name>
    <message>
        <source>Find in the conversation</source>
        <translation>In der Unterhaltung suchen</translation>
    </message>
</context>
<context>
    <name>Core</name>
    <message>
        <source>A command can change anything your account can, because no sandbox is available here. `desktop-agent doctor` says why.</source>
        <translation>Ein Befehl kann alles ändern, was Ihr Konto ändern kann, weil hier keine Sandbox verfügbar ist. `desktop-agent doctor` sagt, warum.</translation>
    </message>
    <message>
        <source>A command can change anything your account can: the sandbox is switched off.</source>
        <translation>Ein Befehl kann alles ändern, was Ihr Konto ändern kann: Die Sandbox ist abgeschaltet.</translation>
    </message>
    <message>
        <source>A command may change files, and your approval policy asks before writing.</source>
        <translation>Ein Befehl kann Dateien ändern, und Ihre Freigaberegelung fragt vor dem Schreiben.</translation>
    </message>
    <message>
        <source>A command&apos;s output could not be saved.</source>
        <translation>Die Ausgabe eines Befehls konnte nicht gespeichert werden.</translation>
    </message>
    <message>
        <source>A custom header for the model&apos;s address is malformed. Correct it or remove it.</source>
        <translation>Ein eigener Header für die Adresse des Modells ist fehlerhaft. Berichtigen oder entfernen Sie ihn.</translation>
    </message>
    <message>
        <source>A file&apos;s content could not be saved, so nothing was changed.</source>
        <translation>Der Inhalt einer Datei konnte nicht gespeichert werden, daher wurde nichts geändert.</translation>
    </message>
    <message>
        <source>A link to {0} has taken the place of the folder {1}.</source>
        <translation>An der Stelle des Ordners {1} steht jetzt ein Verweis auf {0}.</translation>
    </message>
    <message>
        <source>A new conversation begins with your next prompt. This one stays in the list of sessions.</source>
        <translation>Mit Ihrer nächsten Nachricht beginnt eine neue Unterhaltung. Diese bleibt in der Liste der Sitzungen.</translation>
    </message>
    <message>
        <source>A record failed unexpectedly.</source>
        <translation>Ein Eintrag ist unerwartet fehlgeschlagen.</translation>
    </message>
    <message>
        <source>A rule of the user forbids this: `{0}`.</source>
        <translation>Eine Regel des Nutzers verbietet dies: `{0}`.</translation>
    </message>
    <message>
        <source>A rule of yours asks before this: `{0}`.</source>
        <translation>Eine Ihrer Regeln fragt hiervor: `{0}`.</translation>
    </message>
    <message>
        <source>A running server or you changed the same lines since.</source>
        <translation>Ein laufender Server oder Sie haben seither dieselben Zeilen geändert.</translation>
    </message>
    <message>
        <source>The stored content of a file could not be read.</source>
        <translation>Ein gespeicherter Dateiinhalt konnte nicht gelesen werden.</translation>
    </message>
    <message>
        <source>The stored content of a file is damaged.</source>
        <translation>Ein gespeicherter Dateiinhalt ist beschädigt.</translation>
    </message>
    <message>
        <source>The stored content of a file is missing.</source>
        <translation>Ein gespeicherter Dateiinhalt fehlt.</translation>
    </message>
    <message>
        <source>A symlink has taken the place of the folder {0}.</source>
        <translation>An die Stelle des Ordners {0} ist eine symbolische Verknüpfung getreten.</translation>
    </message>
    <message>
        <source>Active pins: none</source>
        <translation>Angeheftet: nichts</translation>
    </message>
    <message>
        <source>Active pins: {0}</source>
        <translation>Angeheftet: {0}</translation>
    </message>
    <message>
        <source>Allow once</source>
        <translation>Einmal erlauben</translation>
    </message>
    <message>
        <source>Allow the application to listen on 127.0.0.1, or use an API key.</source>
        <translation>Erlauben Sie der Anwendung, auf 127.0.0.1 zu lauschen, oder verwenden Sie einen API-Schlüssel.</translation>
    </message>
    <message>
        <source>Allow {0} as it is now</source>
        <translation>{0} erlauben, wie es jetzt ist</translation>
    </message>
    <message>
        <source>Allow {0} in this folder</source>
        <translation>{0} in diesem Ordner erlauben</translation>
    </message>
    <message>
        <source>Allow {0} in this session</source>
        <translation>{0} in dieser Sitzung erlauben</translation>
    </message>
    <message>
        <source>Always allow {0}</source>
        <translation>{0} immer erlauben</translation>
    </message>
    <message>
        <source>Another session changed the same lines since.</source>
        <translation>Eine andere Sitzung hat seither dieselben Zeilen geändert.</translation>
    </message>
    <message>
        <source>Applied again: {0} file.</source>
        <translation>Wiederhergestellt: {0} Datei.</translation>
    </message>
    <message>
        <source>Applied again: {0} files.</source>
        <translation>Wiederhergestellt: {0} Dateien.</translation>
    </message>
    <message>
        <source>Which format should it be exported in?</source>
        <translation>Als was soll exportiert werden?</translation>
    </message>
    <message>
        <source>Ask the agent to read it: then you are asked, and can allow it.</source>
        <translation>Bitten Sie den Agenten, sie zu lesen: Dann werden Sie gefragt und können es erlauben.</translation>
    </message>
    <message>
        <source>Auto-compaction: off</source>
        <translation>Automatisch zusammenfassen: aus</translation>
    </message>
    <message>
        <source>Auto-compaction: {0}</source>
        <translation>Automatisch zusammenfassen: {0}</translation>
    </message>
    <message>
        <source>Begin a new conversation in this folder; this one stays in the list</source>
        <translation>Eine neue Unterhaltung in diesem Ordner beginnen; diese bleibt in der Liste</translation>
    </message>
    <message>
        <source>Change its permissions, or choose another folder.</source>
        <translation>Ändern Sie seine Rechte oder wählen Sie einen anderen Ordner.</translation>
    </message>
    <message>
        <source>Change the mode of {0}?</source>
        <translation>Rechte von {0} ändern?</translation>
    </message>
    <message>
        <source>Change {0} files?</source>
        <translation>{0} Dateien ändern?</translation>
    </message>
    <message>
        <source>Change {0}?</source>
        <translation>{0} ändern?</translation>
    </message>
    <message>
        <source>Changes git&apos;s own files: {0}.</source>
        <translation>Ändert gits eigene Dateien: {0}.</translation>
    </message>
    <message>
        <source>Changes who may use files.</source>
        <translation>Ändert, wer Dateien benutzen darf.</translation>
    </message>
    <message>
        <source>Check provider and address in Settings, or the environment variable that the address comes from.</source>
        <translation>Prüfen Sie Anbieter und Adresse in den Einstellungen, oder die Umgebungsvariable, aus der die Adresse stammt.</translation>
    </message>
    <message>
        <source>Check the network and the address {0}.</source>
        <translation>Prüfen Sie das Netz und die Adresse {0}.</translation>
    </message>
    <message>
        <source>Check the network connection and the address {0}.</source>
        <translation>Prüfen Sie die Netzverbindung und die Adresse {0}.</translation>
    </message>
    <message>
        <source>Check the permissions of the data folder.</source>
        <translation>Prüfen Sie die Rechte des Datenordners.</translation>
    </message>
    <message>
        <source>Check the plan of the key&apos;s account.</source>
        <translation>Prüfen Sie den Tarif des Kontos, zu dem der Schlüssel gehört.</translation>
    </message>
    <message>
        <source>Choose another file.</source>
        <translation>Wählen Sie eine andere Datei.</translation>
    </message>
    <message>
        <source>Choose another folder.</source>
        <translation>Wählen Sie einen anderen Ordner.</translation>
    </message>
    <message>
        <source>Choose another model in the model menu or with --model.</source>
        <translation>Wählen Sie ein anderes Modell im Modellmenü oder mit --model.</translation>
    </message>
    <message>
        <source>Choose another model, or use another key.</source>
        <translation>Wählen Sie ein anderes Modell, oder verwenden Sie einen anderen Schlüssel.</translation>
    </message>
    <message>
        <source>Choose another model.</source>
        <translation>Wählen Sie ein anderes Modell.</translation>
    </message>
    <message>
        <source>Choose another one.</source>
        <translation>Wählen Sie einen anderen.</translation>
    </message>
    <message>
        <source>Choose the folder it is in.</source>
        <translation>Wählen Sie den Ordner, in dem sie liegt.</translation>
    </message>
    <message>
        <source>Choose the right account in the browser, or sign in with a new account here.</source>
        <translation>Wählen Sie im Browser das richtige Konto, oder melden Sie sich hier mit einem neuen Konto an.</translation>
    </message>
    <message>
        <source>Close it there, then open it here.</source>
        <translation>Schließen Sie sie dort, und öffnen Sie sie dann hier.</translation>
    </message>
    <message>
        <source>Close other programs, and try again.</source>
        <translation>Schließen Sie andere Programme, und versuchen Sie es erneut.</translation>
    </message>
    <message>
        <source>Compaction done: everything through turn {0} is summarised for the model.</source>
        <translation>Zusammengefasst: Alles bis Runde {0} hat das Modell jetzt als Zusammenfassung.</translation>
    </message>
    <message>
        <source>Compaction was stopped, so nothing was summarised.</source>
        <translation>Das Zusammenfassen wurde angehalten, also wurde nichts zusammengefasst.</translation>
    </message>
    <message>
        <source>Copy it into the folder, or open its own folder.</source>
        <translation>Kopieren Sie sie in den Ordner, oder öffnen Sie ihren eigenen Ordner.</translation>
    </message>
    <message>
        <source>Correct it in Settings, in --base-url or in the environment. A key belongs in the keyring.</source>
        <translation>Berichtigen Sie sie in den Einstellungen, in --base-url oder in der Umgebung. Ein Schlüssel gehört in den Schlüsselbund.</translation>
    </message>
    <message>
        <source>Create {0}?</source>
        <translation>{0} erstellen?</translation>
    </message>
    <message>
        <source>Delete {0}?</source>
        <translation>{0} löschen?</translation>
    </message>
    <message>
        <source>Deletes a branch or tag.</source>
        <translation>Löscht einen Branch oder Tag.</translation>
    </message>
    <message>
        <source>Deletes untracked files.</source>
        <translation>Löscht Dateien, die git nicht kennt.</translation>
    </message>
    <message>
        <source>Deletes files.</source>
        <translation>Löscht Dateien.</translation>
    </message>
    <message>
        <source>Deletes folders with everything in them.</source>
        <translation>Löscht Ordner mit allem darin.</translation>
    </message>
    <message>
        <source>Did you mean {0}?</source>
        <translation>Meinten Sie {0}?</translation>
    </message>
    <message>
        <source>Disable it, or rename it: letters, digits, _ and -, {0} at most.</source>
        <translation>Schalten Sie es ab, oder benennen Sie es um: Buchstaben, Ziffern, _ und -, höchstens {0}.</translation>
    </message>
    <message>
        <source>Ends other programs.</source>
        <translation>Beendet andere Programme.</translation>
    </message>
    <message>
        <source>Enter another key in Settings, or correct {0} if the key comes from the environment.</source>
        <translation>Geben Sie in den Einstellungen einen anderen Schlüssel ein, oder berichtigen Sie {0}, falls der Schlüssel aus der Umgebung stammt.</translation>
    </message>
    <message>
        <source>Exported to {0}.</source>
        <translation>Exportiert nach {0}.</translation>
    </message>
    <message>
        <source>Folder: {0}</source>
        <translation>Ordner: {0}</translation>
    </message>
    <message>
        <source>Forked{0}: the copy is session {1}. This one stays as it is.</source>
        <translation>Kopiert{0}: Die Kopie ist die Sitzung {1}. Diese bleibt, wie sie ist.</translation>
    </message>
    <message>
        <source>Free some disk space, or check the folder of the cache. `desktop-agent doctor` says where it is.</source>
        <translation>Schaffen Sie Platz auf dem Datenträger oder prüfen Sie den Ordner des Zwischenspeichers. `desktop-agent doctor` sagt, wo er ist.</translation>
    </message>
    <message>
        <source>Free some disk space, or check the permissions of the data folder.</source>
        <translation>Schaffen Sie Platz auf der Platte, oder prüfen Sie die Rechte des Datenordners.</translation>
    </message>
    <message>
        <source>Free some disk space, or check the permissions of the data folder; then go on.</source>
        <translation>Schaffen Sie Platz auf der Platte, oder prüfen Sie die Rechte des Datenordners; dann machen Sie weiter.</translation>
    </message>
    <message>
        <source>Free some disk space, then go on.</source>
        <translation>Schaffen Sie Platz auf der Platte; dann machen Sie weiter.</translation>
    </message>
    <message>
        <source>Give its path relative to the folder.</source>
        <translation>Geben Sie den Pfad ab dem Ordner an.</translation>
    </message>
    <message>
        <source>Go back to before the last message, send less at once, or start a new session for the next task.</source>
        <translation>Gehen Sie vor die letzte Nachricht zurück, senden Sie weniger auf einmal, oder beginnen Sie für die nächste Aufgabe eine neue Sitzung.</translation>
    </message>
    <message>
        <source>Go on in a copy of the conversation, as it was before TURN</source>
        <translation>In einer Kopie der Unterhaltung weitermachen, auf dem Stand vor TURN</translation>
    </message>
    <message>
        <source>Continue with another prompt.</source>
        <translation>Machen Sie mit einer weiteren Nachricht weiter.</translation>
    </message>
    <message>
        <source>In the sandbox: may write nothing, no network</source>
        <translation>In der Sandbox: darf nichts schreiben, kein Netz</translation>
    </message>
    <message>
        <source>In the sandbox: may write this folder, no network</source>
        <translation>In der Sandbox: darf in diesen Ordner schreiben, kein Netz</translation>
    </message>
    <message>
        <source>Include its files by name.</source>
        <translation>Geben Sie ihre Dateien mit Namen an.</translation>
    </message>
    <message>
        <source>It cannot be read: {0}.</source>
        <translation>Sie kann nicht gelesen werden: {0}.</translation>
    </message>
    <message>
        <source>It cannot be shown to a model: {0}.</source>
        <translation>Sie kann einem Modell nicht gezeigt werden: {0}.</translation>
    </message>
    <message>
        <source>It changed a moment ago. Look at it again first.</source>
        <translation>Sie hat sich gerade eben geändert. Sehen Sie sie sich zuerst noch einmal an.</translation>
    </message>
    <message>
        <source>It could not be copied: {0}.</source>
        <translation>Sie konnte nicht kopiert werden: {0}.</translation>
    </message>
    <message>
        <source>It could not be read.</source>
        <translation>Sie konnte nicht gelesen werden.</translation>
    </message>
    <message>
        <source>It could not be read: {0}.</source>
        <translation>Sie konnte nicht gelesen werden: {0}.</translation>
    </message>
    <message>
        <source>It could not be written: {0}.</source>
        <translation>Sie konnte nicht geschrieben werden: {0}.</translation>
    </message>
    <message>
        <source>It had not been read yet when the command began.</source>
        <translation>Sie war noch nicht gelesen, als der Befehl begann.</translation>
    </message>
    <message>
        <source>It has no line {0}: it ends with line {1}.</source>
        <translation>Sie hat keine Zeile {0}: Sie endet mit Zeile {1}.</translation>
    </message>
    <message>
        <source>It is a device, pipe or socket, which cannot be read as a file.</source>
        <translation>Es ist ein Gerät, eine Pipe oder ein Socket und kann nicht als Datei gelesen werden.</translation>
    </message>
    <message>
        <source>It is a folder, which defines nothing.</source>
        <translation>Das ist ein Ordner, und der definiert nichts.</translation>
    </message>
    <message>
        <source>It is a folder, which has no lines.</source>
        <translation>Es ist ein Ordner, der keine Zeilen hat.</translation>
    </message>
    <message>
        <source>It is a folder.</source>
        <translation>Es ist ein Ordner.</translation>
    </message>
    <message>
        <source>It is defined elsewhere: {0}.</source>
        <translation>Woanders ist es definiert: {0}.</translation>
    </message>
    <message>
        <source>It is gone.</source>
        <translation>Sie ist nicht mehr da.</translation>
    </message>
    <message>
        <source>It is larger than {0} MiB, so no copy was kept.</source>
        <translation>Sie ist größer als {0} MiB, daher wurde keine Kopie behalten.</translation>
    </message>
    <message>
        <source>It is more than a safety copy may hold: {0} files, {1} MiB.</source>
        <translation>Es ist mehr, als eine Sicherungskopie fassen darf: {0} Dateien, {1} MiB.</translation>
    </message>
    <message>
        <source>It is not a code file: it is not text, or too large.</source>
        <translation>Das ist keine Datei mit Code: Sie ist kein Text oder zu groß.</translation>
    </message>
    <message>
        <source>It is not text: {0}, {1} bytes.</source>
        <translation>Sie ist kein Text: {0}, {1} Bytes.</translation>
    </message>
    <message>
        <source>It is outside the folder of this session.</source>
        <translation>Sie liegt außerhalb des Ordners dieser Sitzung.</translation>
    </message>
    <message>
        <source>It names no function, class or constant.</source>
        <translation>Es nennt keine Funktion, Klasse oder Konstante.</translation>
    </message>
    <message>
        <source>It is not empty, so it stays.</source>
        <translation>Er bleibt, solange Dateien darin sind.</translation>
    </message>
    <message>
        <source>It was changed since, so your version was left alone.</source>
        <translation>Sie wurde seither geändert; Ihre Fassung wurde unberührt gelassen.</translation>
    </message>
    <message>
        <source>It was moved or deleted since.</source>
        <translation>Sie wurde seither verschoben oder gelöscht.</translation>
    </message>
    <message>
        <source>It was renamed to {0} since. Undo that first.</source>
        <translation>Sie wurde seither in {0} umbenannt. Machen Sie zuerst das rückgängig.</translation>
    </message>
    <message>
        <source>It was renamed together with {0}, which has to be left alone.</source>
        <translation>Sie wurde zusammen mit {0} umbenannt, das unberührt bleiben muss.</translation>
    </message>
    <message>
        <source>It {0}. Choose another with /effort, or in the setting model.effort.</source>
        <translation>Es {0}. Wählen Sie einen anderen mit /effort oder in der Einstellung model.effort.</translation>
    </message>
    <message>
        <source>Its earlier content is missing from the data folder.</source>
        <translation>Ihr früherer Inhalt fehlt im Datenordner.</translation>
    </message>
    <message>
        <source>Its file or the data folder was moved or deleted: put it back, then go on.</source>
        <translation>Ihre Datei oder der Datenordner wurde verschoben oder gelöscht: Legen Sie sie zurück, und machen Sie dann weiter.</translation>
    </message>
    <message>
        <source>Its folder is not in the workspace any more.</source>
        <translation>Ihr Ordner liegt nicht mehr im Arbeitsordner.</translation>
    </message>
    <message>
        <source>Its owner or extended attributes were changed since, so these were left alone.</source>
        <translation>Eigentümer oder erweiterte Attribute wurden seither geändert; sie wurden unberührt gelassen.</translation>
    </message>
    <message>
        <source>Its permissions were changed since, so it was left alone.</source>
        <translation>Die Rechte wurden seither geändert; sie wurde unberührt gelassen.</translation>
    </message>
    <message>
        <source>Its permissions were changed since, so they were left alone.</source>
        <translation>Die Rechte wurden seither geändert; diese wurden unberührt gelassen.</translation>
    </message>
    <message>
        <source>Available: {0}.</source>
        <translation>Bekannt sind {0}.</translation>
    </message>
    <message>
        <source>Last compaction: none</source>
        <translation>Zuletzt zusammengefasst: noch nie</translation>
    </message>
    <message>
        <source>Last compaction: {0}</source>
        <translation>Zuletzt zusammengefasst: {0}</translation>
    </message>
    <message>
        <source>Left as they are: {0}.</source>
        <translation>Unverändert gelassen: {0}.</translation>
    </message>
    <message>
        <source>Let {0} run {1}?</source>
        <translation>{0} darf {1} ausführen?</translation>
    </message>
    <message>
        <source>List the commands</source>
        <translation>Die Befehle auflisten</translation>
    </message>
    <message>
        <source>Make a smaller copy: at most {0} bytes, and {1} pixels a side.</source>
        <translation>Machen Sie eine kleinere Kopie: höchstens {0} Bytes und {1} Pixel je Seite.</translation>
    </message>
    <message>
        <source>Mention it without line numbers.</source>
        <translation>Erwähnen Sie sie ohne Zeilennummern.</translation>
    </message>
    <message>
        <source>Mention one: {0}.</source>
        <translation>Erwähnen Sie eine davon: {0}.</translation>
    </message>
    <message>
        <source>Mention or include at most {0} at a time.</source>
        <translation>Erwähnen oder geben Sie höchstens {0} auf einmal mit.</translation>
    </message>
    <message>
        <source>Mode: approval {0}, sandbox {1}</source>
        <translation>Modus: Freigaben {0}, Sandbox {1}</translation>
    </message>
    <message>
        <source>Model: {0}</source>
        <translation>Modell: {0}</translation>
    </message>
    <message>
        <source>Name another file.</source>
        <translation>Nennen Sie eine andere Datei.</translation>
    </message>
    <message>
        <source>Name the one you mean: {0}.</source>
        <translation>Nennen Sie die gemeinte: {0}.</translation>
    </message>
    <message>
        <source>No model is chosen.</source>
        <translation>Es ist kein Modell gewählt.</translation>
    </message>
    <message>
        <source>Not sandboxed: has all the rights of your account</source>
        <translation>Nicht eingeschränkt: darf alles, was Ihr Konto darf</translation>
    </message>
    <message>
        <source>Nothing is known about the model, so its effort cannot be set.</source>
        <translation>Über das Modell ist nichts bekannt, also kann kein Aufwand gewählt werden.</translation>
    </message>
    <message>
        <source>Nothing is pinned. `/pin add TEXT` pins a text.</source>
        <translation>Es ist nichts angeheftet. `/pin add TEXT` heftet einen Text an.</translation>
    </message>
    <message>
        <source>Nothing listens at {0}. Start the server, or check the address.</source>
        <translation>Unter {0} lauscht nichts. Starten Sie den Server, oder prüfen Sie die Adresse.</translation>
    </message>
    <message>
        <source>Nothing was done.</source>
        <translation>Es wurde nichts getan.</translation>
    </message>
    <message>
        <source>Nothing was done. Change its permissions, then go on.</source>
        <translation>Es wurde nichts getan. Ändern Sie seine Rechte; dann machen Sie weiter.</translation>
    </message>
    <message>
        <source>Nothing was pinned.</source>
        <translation>Es wurde nichts angeheftet.</translation>
    </message>
    <message>
        <source>Nothing was pinned: the time to keep it must be a number of seconds above 0.</source>
        <translation>Es wurde nichts angeheftet: Die Aufbewahrungszeit muss eine Zahl von Sekunden über 0 sein.</translation>
    </message>
    <message>
        <source>Nothing was pinned: with this, the pins would take about {0} tokens of {1}.</source>
        <translation>Es wurde nichts angeheftet: Damit bräuchte Angeheftetes etwa {0} Token von {1}.</translation>
    </message>
    <message>
        <source>Nothing was redone.</source>
        <translation>Es wurde nichts wiederhergestellt.</translation>
    </message>
    <message>
        <source>Nothing was renamed.</source>
        <translation>Es wurde nichts umbenannt.</translation>
    </message>
    <message>
        <source>Nothing was sent: the proxy {0} would read the key and the conversation.</source>
        <translation>Es wurde nichts gesendet: Der Proxy {0} würde Schlüssel und Unterhaltung lesen.</translation>
    </message>
    <message>
        <source>Nothing was undone.</source>
        <translation>Es wurde nichts rückgängig gemacht.</translation>
    </message>
    <message>
        <source>Nothing was written.</source>
        <translation>Es wurde nichts geschrieben.</translation>
    </message>
    <message>
        <source>Part of {0} is undone; the patch shows everything that was changed.</source>
        <translation>Von {0} ist ein Teil rückgängig gemacht; der Patch zeigt alles, was geändert wurde.</translation>
    </message>
    <message>
        <source>Only {0} is possible.</source>
        <translation>Nur {0} ist möglich.</translation>
    </message>
    <message>
        <source>A safety copy is made first: {0}.</source>
        <translation>Zuerst wird eine Sicherungskopie angelegt: {0}.</translation>
    </message>
    <message>
        <source>Add a test for an empty list, and note the fix in the changelog.</source>
        <translation>Ergänze einen Test für eine leere Liste, und notiere die Korrektur im Changelog.</translation>
    </message>
    <message>
        <source>Calls the services of AWS with your rights.</source>
        <translation>Ruft die Dienste von AWS mit Ihren Rechten auf.</translation>
    </message>
    <message>
        <source>Confined: {0}.</source>
        <translation>Eingeschränkt: {0}.</translation>
    </message>
    <message>
        <source>Drives a browser: opens pages, clicks, types and takes pictures.</source>
        <translation>Steuert einen Browser: öffnet Seiten, klickt, tippt und nimmt Bilder auf.</translation>
    </message>
    <message>
        <source>Explains what AWS costs, and where to save.</source>
        <translation>Erklärt, was AWS kostet, und wo sich sparen lässt.</translation>
    </message>
    <message>
        <source>Fetches web pages as text that models read well.</source>
        <translation>Holt Webseiten als Text, den Modelle gut lesen.</translation>
    </message>
    <message>
        <source>It should have a key &quot;mcpServers&quot;.</source>
        <translation>Sie sollte einen Schlüssel „mcpServers“ enthalten.</translation>
    </message>
    <message>
        <source>No API key for {0} could be read.</source>
        <translation>Es konnte kein API-Schlüssel für {0} gelesen werden.</translation>
    </message>
    <message>
        <source>No closing quotation</source>
        <translation>ein Anführungszeichen wird nicht geschlossen</translation>
    </message>
    <message>
        <source>Node.js, for npx.</source>
        <translation>Node.js, für npx.</translation>
    </message>
    <message>
        <source>Not confined: it can do all that you can do.</source>
        <translation>Nicht eingeschränkt: Er kann alles, was Sie können.</translation>
    </message>
    <message>
        <source>One of the tests fails. Find out why, fix it, and run the tests again.</source>
        <translation>Einer der Tests schlägt fehl. Finde heraus, warum, behebe es, und führe die Tests noch einmal aus.</translation>
    </message>
    <message>
        <source>Open the folder of a project.</source>
        <translation>Öffnen Sie den Ordner eines Projekts.</translation>
    </message>
    <message>
        <source>Overwrites history on the server.</source>
        <translation>Überschreibt die Historie auf dem Server.</translation>
    </message>
    <message>
        <source>Paste the whole key.</source>
        <translation>Fügen Sie den ganzen Schlüssel ein.</translation>
    </message>
    <message>
        <source>Reaches outside the workspace: {0}.</source>
        <translation>Greift über den Arbeitsordner hinaus: {0}.</translation>
    </message>
    <message>
        <source>Read {0}?</source>
        <translation>{0} lesen?</translation>
    </message>
    <message>
        <source>Reads git repositories, and changes them unless it is confined.</source>
        <translation>Liest Git-Repositorys und ändert sie, wenn er nicht eingeschränkt ist.</translation>
    </message>
    <message>
        <source>Reads, writes and searches files in the folders that it is given.</source>
        <translation>Liest, schreibt und durchsucht Dateien in den Ordnern, die er erhält.</translation>
    </message>
    <message>
        <source>Remove a pin</source>
        <translation>Angeheftetes entfernen</translation>
    </message>
    <message>
        <source>Remove a pin, shorten the text, or raise compaction.pins_tokens in the settings.</source>
        <translation>Entfernen Sie etwas Angeheftetes, kürzen Sie den Text, oder erhöhen Sie compaction.pins_tokens in den Einstellungen.</translation>
    </message>
    <message>
        <source>Removes what git needs to restore commits.</source>
        <translation>Entfernt, was git bräuchte, um Commits zurückzuholen.</translation>
    </message>
    <message>
        <source>Rename and change {0}?</source>
        <translation>{0} umbenennen und ändern?</translation>
    </message>
    <message>
        <source>Rename {0}?</source>
        <translation>{0} umbenennen?</translation>
    </message>
    <message>
        <source>Rephrase the request, or leave out what it declined.</source>
        <translation>Formulieren Sie die Anfrage um, oder lassen Sie weg, was es verweigert hat.</translation>
    </message>
    <message>
        <source>Repositories, issues and pull requests on GitHub.</source>
        <translation>Repositorys, Issues und Pull Requests auf GitHub.</translation>
    </message>
    <message>
        <source>Requests go to: {0}</source>
        <translation>Anfragen gehen an: {0}</translation>
    </message>
    <message>
        <source>Rewrites git&apos;s history.</source>
        <translation>Schreibt die Historie von git um.</translation>
    </message>
    <message>
        <source>Run this command outside the sandbox?</source>
        <translation>Diesen Befehl außerhalb der Sandbox ausführen?</translation>
    </message>
    <message>
        <source>Run this command?</source>
        <translation>Diesen Befehl ausführen?</translation>
    </message>
    <message>
        <source>Runs scripts of this project.</source>
        <translation>Führt Skripte dieses Projekts aus.</translation>
    </message>
    <message>
        <source>Runs what another command prints as a script.</source>
        <translation>Führt aus, was ein anderer Befehl ausgibt.</translation>
    </message>
    <message>
        <source>Runs with administrator rights (sudo).</source>
        <translation>Läuft mit Administratorrechten (sudo).</translation>
    </message>
    <message>
        <source>Save it as a file, and drop that here.</source>
        <translation>Speichern Sie es als Datei, und ziehen Sie diese hierher.</translation>
    </message>
    <message>
        <source>Send “go on” to continue.</source>
        <translation>Schreiben Sie „weiter“, um fortzufahren.</translation>
    </message>
    <message>
        <source>Search the web for “{0}”?</source>
        <translation>Im Web nach „{0}“ suchen?</translation>
    </message>
    <message>
        <source>Send the message again in other words, or choose another model.</source>
        <translation>Senden Sie die Nachricht mit anderen Worten noch einmal, oder wählen Sie ein anderes Modell.</translation>
    </message>
    <message>
        <source>Send the message again.</source>
        <translation>Senden Sie die Nachricht erneut.</translation>
    </message>
    <message>
        <source>Session: {0}</source>
        <translation>Sitzung: {0}</translation>
    </message>
    <message>
        <source>Show how much the model thinks, or set it</source>
        <translation>Zeigen, wie viel das Modell nachdenkt, oder es festlegen</translation>
    </message>
    <message>
        <source>Show settings, or change one from the next step on</source>
        <translation>Einstellungen zeigen, oder eine ab dem nächsten Schritt ändern</translation>
    </message>
    <message>
        <source>Show the model, or choose another</source>
        <translation>Das Modell zeigen, oder ein anderes wählen</translation>
    </message>
    <message>
        <source>Show the model, the tokens in use, compaction and pins</source>
        <translation>Modell, verwendete Token, Zusammenfassung und Angeheftetes zeigen</translation>
    </message>
    <message>
        <source>Show what the agent changed in this conversation, as a patch</source>
        <translation>Zeigen, was der Agent in dieser Unterhaltung geändert hat, als Patch</translation>
    </message>
    <message>
        <source>Shuts the computer down.</source>
        <translation>Fährt den Rechner herunter.</translation>
    </message>
    <message>
        <source>Sign in again and allow the use of the plan, or use an API key.</source>
        <translation>Melden Sie sich erneut an und erlauben Sie die Nutzung des Tarifs, oder verwenden Sie einen API-Schlüssel.</translation>
    </message>
    <message>
        <source>Sign in again, and finish it in the browser.</source>
        <translation>Melden Sie sich erneut an, und schließen Sie es im Browser ab.</translation>
    </message>
    <message>
        <source>Sign in again, or use an API key.</source>
        <translation>Melden Sie sich erneut an, oder verwenden Sie einen API-Schlüssel.</translation>
    </message>
    <message>
        <source>Sign in again.</source>
        <translation>Melden Sie sich erneut an.</translation>
    </message>
    <message>
        <source>Sign in again. If this happens again, do not use this network.</source>
        <translation>Melden Sie sich erneut an. Bleibt es so, verwenden Sie dieses Netz nicht.</translation>
    </message>
    <message>
        <source>Sign in again: `ant auth login`.</source>
        <translation>Melden Sie sich erneut an: `ant auth login`.</translation>
    </message>
    <message>
        <source>Sign in again: `desktop-agent auth sign-in {0} --account {1}`.</source>
        <translation>Melden Sie sich erneut an: `desktop-agent auth sign-in {0} --account {1}`.</translation>
    </message>
    <message>
        <source>Something else has taken its place since.</source>
        <translation>Etwas anderes ist seither an ihre Stelle getreten.</translation>
    </message>
    <message>
        <source>Something else has taken the place of the folder {0}.</source>
        <translation>Etwas anderes ist an die Stelle des Ordners {0} getreten.</translation>
    </message>
    <message>
        <source>Something went wrong inside the application, so the turn ended.</source>
        <translation>In der Anwendung ist etwas schiefgegangen, daher endete die Runde.</translation>
    </message>
    <message>
        <source>Something went wrong inside the application; the details are in the log.</source>
        <translation>In der Anwendung ist etwas schiefgegangen; Näheres steht im Protokoll.</translation>
    </message>
    <message>
        <source>Start a new one. `desktop-agent sessions verify --repair` removes this one.</source>
        <translation>Beginnen Sie eine neue. `desktop-agent sessions verify --repair` entfernt diese.</translation>
    </message>
    <message>
        <source>Start a new session, or send less at once.</source>
        <translation>Beginnen Sie eine neue Sitzung, oder senden Sie weniger auf einmal.</translation>
    </message>
    <message>
        <source>Start in another folder, or name one.</source>
        <translation>Starten Sie in einem anderen Ordner, oder geben Sie einen an.</translation>
    </message>
    <message>
        <source>State: idle, {0} turn</source>
        <translation>Zustand: bereit, {0} Runde</translation>
    </message>
    <message>
        <source>State: idle, {0} turns</source>
        <translation>Zustand: bereit, {0} Runden</translation>
    </message>
    <message>
        <source>State: {0}, {1} turn</source>
        <translation>Zustand: {0}, {1} Runde</translation>
    </message>
    <message>
        <source>State: {0}, {1} turns</source>
        <translation>Zustand: {0}, {1} Runden</translation>
    </message>
    <message>
        <source>Stop it first, or keep the files.</source>
        <translation>Halten Sie ihn zuerst an, oder behalten Sie die Dateien.</translation>
    </message>
    <message>
        <source>Stop it first.</source>
        <translation>Halten Sie ihn zuerst an.</translation>
    </message>
    <message>
        <source>Summarise older turns, go back to before the last message, or start a new session.</source>
        <translation>Fassen Sie ältere Runden zusammen, gehen Sie vor die letzte Nachricht zurück, oder beginnen Sie eine neue Sitzung.</translation>
    </message>
    <message>
        <source>Tells the time, and converts it between time zones.</source>
        <translation>Sagt die Zeit und rechnet sie zwischen Zeitzonen um.</translation>
    </message>
    <message>
        <source>The account has no credit or has reached its spending limit.</source>
        <translation>Das Konto hat kein Guthaben oder hat sein Ausgabenlimit erreicht.</translation>
    </message>
    <message>
        <source>The account {0} of {1} has another address now: {2}.</source>
        <translation>Das Konto {0} bei {1} hat jetzt eine andere Adresse: {2}.</translation>
    </message>
    <message>
        <source>The account&apos;s rate limit is reached.</source>
        <translation>Das Anfragelimit des Kontos ist erreicht.</translation>
    </message>
    <message>
        <source>The agent changed no file in this conversation, or all of it is undone.</source>
        <translation>Der Agent hat in dieser Unterhaltung keine Datei geändert, oder alles ist rückgängig gemacht.</translation>
    </message>
    <message>
        <source>The agent did not change {0} in this conversation.</source>
        <translation>Der Agent hat {0} in dieser Unterhaltung nicht geändert.</translation>
    </message>
    <message>
        <source>The agent is working, so /{0} was not carried out.</source>
        <translation>Der Agent arbeitet, deshalb wurde /{0} nicht ausgeführt.</translation>
    </message>
    <message>
        <source>The agent is working, so {0}.</source>
        <translation>Der Agent arbeitet, daher: {0}.</translation>
    </message>
    <message>
        <source>The agent is working in this session, {0}.</source>
        <translation>Der Agent arbeitet in dieser Sitzung, {0}.</translation>
    </message>
    <message>
        <source>The answer broke off before it was complete.</source>
        <translation>Die Antwort brach ab, bevor sie vollständig war.</translation>
    </message>
    <message>
        <source>The answer ended before it was complete.</source>
        <translation>Die Antwort endete, bevor sie vollständig war.</translation>
    </message>
    <message>
        <source>The answer reached its token limit, so the call was not run. Make it again, split if it is long.</source>
        <translation>Die Antwort erreichte ihr Tokenlimit, daher wurde der Aufruf nicht ausgeführt. Rufen Sie erneut auf, bei Länge geteilt.</translation>
    </message>
    <message>
        <source>The application ended before an answer came.</source>
        <translation>Die Anwendung endete, bevor eine Antwort kam.</translation>
    </message>
    <message>
        <source>The application was closed.</source>
        <translation>Die Anwendung wurde geschlossen.</translation>
    </message>
    <message>
        <source>The browser could not send the answer back: no port of this machine can be opened.</source>
        <translation>Der Browser konnte die Antwort nicht zurücksenden: Auf diesem Rechner lässt sich kein Port öffnen.</translation>
    </message>
    <message>
        <source>The browser could not send the answer back: port {0} of this machine cannot be opened.</source>
        <translation>Der Browser konnte die Antwort nicht zurücksenden: Port {0} dieses Rechners lässt sich nicht öffnen.</translation>
    </message>
    <message>
        <source>The cache cannot be used. Work continues, but finding changes takes more time and memory.</source>
        <translation>Der Zwischenspeicher ist nicht nutzbar. Alles läuft weiter, aber Änderungen zu finden kostet mehr Zeit und Arbeitsspeicher.</translation>
    </message>
    <message>
        <source>The call names no tool, so it was not run. Make the call again, with the name of the tool.</source>
        <translation>The call names no tool, so it was not run. Make the call again, with the name of the tool.</translation>
    </message>
    <message>
        <source>The context window was full, so the call was not run.</source>
        <translation>Das Kontextfenster war voll, daher wurde der Aufruf nicht ausgeführt.</translation>
    </message>
    <message>
        <source>The conversation cannot be copied.</source>
        <translation>Die Unterhaltung kann nicht kopiert werden.</translation>
    </message>
    <message>
        <source>The conversation cannot be copied: the first line of its journal cannot be read.</source>
        <translation>Die Unterhaltung kann nicht kopiert werden: Die erste Zeile ihres Journals ist nicht lesbar.</translation>
    </message>
    <message>
        <source>The conversation changed while it was summarised, so nothing was summarised.</source>
        <translation>Die Unterhaltung hat sich während des Zusammenfassens geändert, daher wurde nichts zusammengefasst.</translation>
    </message>
    <message>
        <source>The conversation could not be copied.</source>
        <translation>Die Unterhaltung konnte nicht kopiert werden.</translation>
    </message>
    <message>
        <source>The conversation has become too large for one request.</source>
        <translation>Die Unterhaltung ist für eine Anfrage zu groß geworden.</translation>
    </message>
    <message>
        <source>The conversation no longer fits the model&apos;s context window.</source>
        <translation>Die Unterhaltung passt nicht mehr in das Kontextfenster des Modells.</translation>
    </message>
    <message>
        <source>The conversation takes about {0} tokens, and the model&apos;s window has {1}.</source>
        <translation>Die Unterhaltung braucht etwa {0} Token, und das Fenster des Modells hat {1}.</translation>
    </message>
    <message>
        <source>The demo follows its script.</source>
        <translation>Die Demo folgt ihrem Drehbuch.</translation>
    </message>
    <message>
        <source>The details say why. A new session or another model may help.</source>
        <translation>Die Details sagen, warum. Eine neue Sitzung oder ein anderes Modell kann helfen.</translation>
    </message>
    <message>
        <source>The disk is full: a command&apos;s output could not be saved.</source>
        <translation>Die Platte ist voll: Die Ausgabe eines Befehls konnte nicht gespeichert werden.</translation>
    </message>
    <message>
        <source>The disk is full: a file&apos;s content could not be saved, so nothing was changed.</source>
        <translation>Die Platte ist voll: Der Inhalt einer Datei konnte nicht gespeichert werden, deshalb wurde nichts geändert.</translation>
    </message>
    <message>
        <source>The disk is full: the session cannot be opened for writing.</source>
        <translation>Die Platte ist voll: Die Sitzung kann nicht zum Schreiben geöffnet werden.</translation>
    </message>
    <message>
        <source>The disk is full: the session could not be written, so the agent stopped.</source>
        <translation>Die Platte ist voll: Die Sitzung konnte nicht geschrieben werden, deshalb hat der Agent angehalten.</translation>
    </message>
    <message>
        <source>The effort of {0} is {1} from {2} on.</source>
        <translation>Der Aufwand von {0} ist {1}, ab: {2}.</translation>
    </message>
    <message>
        <source>The file is not in the folder of this conversation.</source>
        <translation>Die Datei liegt nicht im Ordner dieser Unterhaltung.</translation>
    </message>
    <message>
        <source>The file is outside the open folder.</source>
        <translation>Die Datei liegt nicht im geöffneten Ordner.</translation>
    </message>
    <message>
        <source>The file is not JSON.</source>
        <translation>Die Datei ist kein JSON.</translation>
    </message>
    <message>
        <source>AWS access key …{0} ({1}), region {2}</source>
        <translation>AWS-Zugriffsschlüssel …{0} ({1}), Region {2}</translation>
    </message>
    <message>
        <source>Before this message, the conversation went on in {0}.</source>
        <translation>Vor dieser Nachricht ging die Unterhaltung in {0} weiter.</translation>
    </message>
    <message>
        <source>Install git.</source>
        <translation>Installieren Sie Git.</translation>
    </message>
    <message>
        <source>The file is too large to be compared.</source>
        <translation>Die Datei ist zu groß für einen Vergleich.</translation>
    </message>
    <message>
        <source>The files are as they were before; the conversation stays.</source>
        <translation>Die Dateien sind wieder wie zuvor; die Unterhaltung bleibt.</translation>
    </message>
    <message>
        <source>The folder cannot be read: {0}.</source>
        <translation>Der Ordner kann nicht gelesen werden: {0}.</translation>
    </message>
    <message>
        <source>The folder has more than {0} files; the rest is not watched.</source>
        <translation>Der Ordner hat mehr als {0} Dateien; der Rest wird nicht beobachtet.</translation>
    </message>
    <message>
        <source>The folder has no function, class or constant of that name.</source>
        <translation>Im Ordner gibt es keine Funktion, Klasse oder Konstante mit diesem Namen.</translation>
    </message>
    <message>
        <source>The folder of {0} is not in the workspace any more. Nothing was written.</source>
        <translation>Der Ordner von {0} liegt nicht mehr im Arbeitsordner. Es wurde nichts geschrieben.</translation>
    </message>
    <message>
        <source>The folder this was started in is gone.</source>
        <translation>Der Ordner, in dem dies gestartet wurde, ist nicht mehr da.</translation>
    </message>
    <message>
        <source>The folder {0} cannot be read.</source>
        <translation>Der Ordner {0} kann nicht gelesen werden.</translation>
    </message>
    <message>
        <source>The folder {0} does not exist.</source>
        <translation>Der Ordner {0} existiert nicht.</translation>
    </message>
    <message>
        <source>The folder {0} was moved away or replaced while this conversation had it open.</source>
        <translation>Der Ordner {0} wurde verschoben oder ersetzt, während diese Unterhaltung ihn geöffnet hatte.</translation>
    </message>
    <message>
        <source>The git repository is gone.</source>
        <translation>Das git-Repository gibt es nicht mehr.</translation>
    </message>
    <message>
        <source>The host of this picture could not be found.</source>
        <translation>Der Server dieses Bilds wurde nicht gefunden.</translation>
    </message>
    <message>
        <source>The id {0} belongs to several changes of this session, so it is not clear which one is meant.</source>
        <translation>Die Kennung {0} gehört zu mehreren Änderungen dieser Sitzung und sagt deshalb nicht, welche gemeint ist.</translation>
    </message>
    <message>
        <source>The key is empty.</source>
        <translation>Der Schlüssel ist leer.</translation>
    </message>
    <message>
        <source>The key was refused.</source>
        <translation>Der Schlüssel wurde abgelehnt.</translation>
    </message>
    <message>
        <source>The keyring could not be opened.</source>
        <translation>Der Schlüsselbund konnte nicht geöffnet werden.</translation>
    </message>
    <message>
        <source>The keyring could not {0} the key.</source>
        <translation>Der Schlüsselbund konnte den Schlüssel nicht verarbeiten ({0}).</translation>
    </message>
    <message>
        <source>The keyring did not keep the key.</source>
        <translation>Der Schlüsselbund hat den Schlüssel nicht behalten.</translation>
    </message>
    <message>
        <source>The keyring does not answer.</source>
        <translation>Der Schlüsselbund antwortet nicht.</translation>
    </message>
    <message>
        <source>The keyring is locked.</source>
        <translation>Der Schlüsselbund ist gesperrt.</translation>
    </message>
    <message>
        <source>The keyring was not unlocked within {0} seconds.</source>
        <translation>Der Schlüsselbund wurde nicht innerhalb von {0} Sekunden entsperrt.</translation>
    </message>
    <message>
        <source>The last record of this session was cut off when the application ended.</source>
        <translation>Der letzte Eintrag dieser Sitzung wurde abgeschnitten, als die Anwendung endete.</translation>
    </message>
    <message>
        <source>The message has {0} attachments, so it was not sent.</source>
        <translation>Die Nachricht bringt {0} Dinge mit, daher wurde sie nicht gesendet.</translation>
    </message>
    <message>
        <source>The model answered with nothing, twice.</source>
        <translation>Das Modell hat zweimal nichts geantwortet.</translation>
    </message>
    <message>
        <source>The model could not be asked for a summary ({0})</source>
        <translation>Das Modell konnte nicht um eine Zusammenfassung gebeten werden ({0})</translation>
    </message>
    <message>
        <source>The model declined to answer this.</source>
        <translation>Das Modell hat dies verweigert.</translation>
    </message>
    <message>
        <source>The model is {0} from {1} on.</source>
        <translation>Das Modell ist {0}, ab: {1}.</translation>
    </message>
    <message>
        <source>The model no longer sees what came after, and the files are as they were before.</source>
        <translation>Das Modell sieht nicht mehr, was danach kam, und die Dateien sind wieder wie zuvor.</translation>
    </message>
    <message>
        <source>The model no longer sees what came after.</source>
        <translation>Das Modell sieht nicht mehr, was danach kam.</translation>
    </message>
    <message>
        <source>The model no longer sees what came after; the files stay as they are.</source>
        <translation>Das Modell sieht nicht mehr, was danach kam; die Dateien bleiben, wie sie sind.</translation>
    </message>
    <message>
        <source>The model stopped answering.</source>
        <translation>Das Modell antwortet nicht mehr.</translation>
    </message>
    <message>
        <source>The model&apos;s address could not be reached.</source>
        <translation>Die Adresse des Modells konnte nicht erreicht werden.</translation>
    </message>
    <message>
        <source>The model&apos;s address is not a web address{0}.</source>
        <translation>Die Adresse des Modells ist keine Webadresse{0}.</translation>
    </message>
    <message>
        <source>The model&apos;s service had an internal error.</source>
        <translation>Der Dienst des Modells hatte einen internen Fehler.</translation>
    </message>
    <message>
        <source>The model&apos;s service is overloaded.</source>
        <translation>Der Dienst des Modells ist überlastet.</translation>
    </message>
    <message>
        <source>The name in {0} is unknown. Check the address and the network connection.</source>
        <translation>Der Name in {0} ist unbekannt. Prüfen Sie die Adresse und die Netzverbindung.</translation>
    </message>
    <message>
        <source>The name of the model is missing.</source>
        <translation>Der Name des Modells fehlt.</translation>
    </message>
    <message>
        <source>The new window could not be started.</source>
        <translation>Das neue Fenster konnte nicht gestartet werden.</translation>
    </message>
    <message>
        <source>The next request goes to {0} again. The setting model.fallback names the substitute.</source>
        <translation>Die nächste Anfrage geht wieder an {0}. Die Einstellung model.fallback nennt, wer einspringt.</translation>
    </message>
    <message>
        <source>The output cannot be read: {0}.</source>
        <translation>Die Ausgabe kann nicht gelesen werden: {0}.</translation>
    </message>
    <message>
        <source>The picture took too long to load.</source>
        <translation>Das Bild kam nicht rechtzeitig an.</translation>
    </message>
    <message>
        <source>The proxy {0} could not be reached.</source>
        <translation>Der Proxy {0} konnte nicht erreicht werden.</translation>
    </message>
    <message>
        <source>The proxy {0} refused the connection{1}. The model was not reached.</source>
        <translation>Der Proxy {0} hat die Verbindung abgelehnt{1}. Das Modell wurde nicht erreicht.</translation>
    </message>
    <message>
        <source>The redo of turn {0} changed the same lines since.</source>
        <translation>Das Wiederherstellen von Runde {0} hat seither dieselben Zeilen geändert.</translation>
    </message>
    <message>
        <source>The reply did not stop for this call, so it was not run. Send it again if it is still wanted.</source>
        <translation>Die Antwort hielt nicht für diesen Aufruf an, daher wurde er nicht ausgeführt. Senden Sie ihn erneut, wenn er noch gewünscht ist.</translation>
    </message>
    <message>
        <source>The reply reached its length limit before this call was complete, so it was not run. Send it again in smaller parts: several edits instead of one large file.</source>
        <translation>Die Antwort erreichte ihr Längenlimit, bevor dieser Aufruf vollständig war, daher wurde er nicht ausgeführt. Senden Sie ihn erneut in kleineren Teilen: mehrere Bearbeitungen statt einer großen Datei.</translation>
    </message>
    <message>
        <source>The reply was cut at its length limit.</source>
        <translation>Die Antwort wurde an ihrem Längenlimit abgeschnitten.</translation>
    </message>
    <message>
        <source>The request could not be sent.</source>
        <translation>Die Anfrage konnte nicht gesendet werden.</translation>
    </message>
    <message>
        <source>The request was refused as invalid.</source>
        <translation>Die Anfrage wurde als ungültig abgelehnt.</translation>
    </message>
    <message>
        <source>The safety copy could not be made ({0}), so the command was not run.</source>
        <translation>Die Sicherungskopie konnte nicht angelegt werden ({0}), darum lief der Befehl nicht.</translation>
    </message>
    <message>
        <source>The same lines were changed since.</source>
        <translation>Dieselben Zeilen wurden seither geändert.</translation>
    </message>
    <message>
        <source>The sandbox is strict: nothing may be written. Say what you would change instead.</source>
        <translation>Die Sandbox ist streng: Es darf nichts geschrieben werden. Sagen Sie, was Sie stattdessen ändern würden.</translation>
    </message>
    <message>
        <source>The server changed this tool since you allowed it.</source>
        <translation>Der Server hat dieses Werkzeug geändert, seit Sie es erlaubt haben.</translation>
    </message>
    <message>
        <source>The session cannot be continued: the line of its journal that names its folder cannot be read.</source>
        <translation>Die Sitzung kann nicht fortgesetzt werden: Die Zeile ihres Journals, die ihren Ordner nennt, ist nicht lesbar.</translation>
    </message>
    <message>
        <source>The session cannot be opened for writing.</source>
        <translation>Die Sitzung kann nicht zum Schreiben geöffnet werden.</translation>
    </message>
    <message>
        <source>The session could not be deleted.</source>
        <translation>Die Sitzung konnte nicht gelöscht werden.</translation>
    </message>
    <message>
        <source>The session could not be read.</source>
        <translation>Die Sitzung konnte nicht gelesen werden.</translation>
    </message>
    <message>
        <source>The session could not be written, so the agent stopped.</source>
        <translation>Die Sitzung konnte nicht geschrieben werden, daher hat der Agent angehalten.</translation>
    </message>
    <message>
        <source>The session has reached its spending limit.</source>
        <translation>Die Sitzung darf nicht mehr ausgeben.</translation>
    </message>
    <message>
        <source>The sign-in with {0} was declined.</source>
        <translation>Die Anmeldung bei {0} wurde abgelehnt.</translation>
    </message>
    <message>
        <source>The sign-in with {0} was not finished within {1} minutes.</source>
        <translation>Die Anmeldung bei {0} wurde nicht innerhalb von {1} Minuten abgeschlossen.</translation>
    </message>
    <message>
        <source>The tool “{0}” has a name that the model&apos;s API does not accept.</source>
        <translation>Das Werkzeug „{0}“ hat einen Namen, den die API des Modells nicht annimmt.</translation>
    </message>
    <message>
        <source>The turn was stopped before an answer came.</source>
        <translation>Die Runde wurde angehalten, bevor eine Antwort kam.</translation>
    </message>
    <message>
        <source>The undo of turn {0} changed the same lines since.</source>
        <translation>Das Rückgängigmachen von Runde {0} hat seither dieselben Zeilen geändert.</translation>
    </message>
    <message>
        <source>The {0} was stopped after {1} seconds, its time limit.</source>
        <translation>Angehalten ({0}) nach {1} Sekunden: Länger darf es nicht dauern.</translation>
    </message>
    <message>
        <source>There is already a {0}.</source>
        <translation>Es gibt schon: {0}.</translation>
    </message>
    <message>
        <source>There is no API key for {0}.</source>
        <translation>Es gibt keinen API-Schlüssel für {0}.</translation>
    </message>
    <message>
        <source>There is no command {0}.</source>
        <translation>Einen Befehl {0} gibt es nicht.</translation>
    </message>
    <message>
        <source>There is no display to open a window on (DISPLAY and WAYLAND_DISPLAY are unset).</source>
        <translation>Es gibt keinen Bildschirm, auf dem ein Fenster geöffnet werden kann (DISPLAY und WAYLAND_DISPLAY sind nicht gesetzt).</translation>
    </message>
    <message>
        <source>There is no list of MCP servers in the file.</source>
        <translation>In der Datei ist keine Liste von MCP-Servern.</translation>
    </message>
    <message>
        <source>There is no model named “{0}”.</source>
        <translation>Es gibt kein Modell namens „{0}“.</translation>
    </message>
    <message>
        <source>There is no picture at this address: the answer was {0} {1}.</source>
        <translation>Unter dieser Adresse ist kein Bild: die Antwort war {0} {1}.</translation>
    </message>
    <message>
        <source>There is no pin “{0}”.</source>
        <translation>Es gibt nichts Angeheftetes „{0}“.</translation>
    </message>
    <message>
        <source>There is no provider {0}.</source>
        <translation>Einen Anbieter {0} gibt es nicht.</translation>
    </message>
    <message>
        <source>There is no server named {0} in the catalogue.</source>
        <translation>Im Katalog ist kein Server namens {0}.</translation>
    </message>
    <message>
        <source>There is no setting {0}.</source>
        <translation>Eine Einstellung {0} gibt es nicht.</translation>
    </message>
    <message>
        <source>There is no such file in the folder of this session.</source>
        <translation>Eine solche Datei gibt es im Ordner dieser Sitzung nicht.</translation>
    </message>
    <message>
        <source>There is no such file.</source>
        <translation>Eine solche Datei gibt es nicht.</translation>
    </message>
    <message>
        <source>There is no turn to go back to yet.</source>
        <translation>Es gibt noch keine Runde, zu der man zurückgehen könnte.</translation>
    </message>
    <message>
        <source>There is no turn {0} in this session.</source>
        <translation>Es gibt keine Runde {0} in dieser Sitzung.</translation>
    </message>
    <message>
        <source>There is no turn {0} to go back to.</source>
        <translation>Es gibt keine Runde {0}, vor die zurückgegangen werden kann.</translation>
    </message>
    <message>
        <source>There is nothing to pin: the text is empty.</source>
        <translation>Es gibt nichts anzuheften: Der Text ist leer.</translation>
    </message>
    <message>
        <source>There is nothing to summarise yet: only the last turn is left.</source>
        <translation>Es gibt noch nichts zusammenzufassen: Nur die letzte Runde ist übrig.</translation>
    </message>
    <message>
        <source>There is nothing to {0}.</source>
        <translation>Es gibt nichts dafür ({0}).</translation>
    </message>
    <message>
        <source>There is nothing to {0}{1}.</source>
        <translation>Es gibt nichts dafür ({0}){1}.</translation>
    </message>
    <message>
        <source>This address is not on the public internet, so nothing is loaded from it.</source>
        <translation>Diese Adresse liegt nicht im öffentlichen Internet, daher wird nichts von ihr geladen.</translation>
    </message>
    <message>
        <source>This changes files, and your approval policy asks before writing.</source>
        <translation>Dies ändert Dateien, und Ihre Freigaberegelung fragt vor dem Schreiben.</translation>
    </message>
    <message>
        <source>This command could not be fully understood: {0}.</source>
        <translation>Dieser Befehl konnte nicht ganz verstanden werden: {0}.</translation>
    </message>
    <message>
        <source>This command was not fully understood, so it may contain one that you blocked.</source>
        <translation>Dieser Befehl wurde nicht ganz verstanden und kann daher einen enthalten, den Sie gesperrt haben.</translation>
    </message>
    <message>
        <source>This conversation has cost {0}, and its limit is {1}.</source>
        <translation>Diese Unterhaltung hat {0} gekostet, und ihr Limit ist {1}.</translation>
    </message>
    <message>
        <source>This is not a file.</source>
        <translation>Das ist keine Datei.</translation>
    </message>
    <message>
        <source>This is only the beginning; `desktop-agent changes diff {0}` prints all of it.</source>
        <translation>Das ist der Anfang; `desktop-agent changes diff {0}` gibt alles aus.</translation>
    </message>
    <message>
        <source>This key may not use {0}.</source>
        <translation>Dieser Schlüssel darf {0} nicht verwenden.</translation>
    </message>
    <message>
        <source>This needs administrator rights.</source>
        <translation>Dies braucht Administratorrechte.</translation>
    </message>
    <message>
        <source>This needs the network.</source>
        <translation>Dies braucht das Netz.</translation>
    </message>
    <message>
        <source>This picture cannot be read.</source>
        <translation>Dieses Bild kann nicht gelesen werden.</translation>
    </message>
    <message>
        <source>This picture could not be loaded.</source>
        <translation>Dieses Bild konnte nicht geladen werden.</translation>
    </message>
    <message>
        <source>This picture is outside the open folder, so it is not loaded.</source>
        <translation>Dieses Bild liegt nicht im geöffneten Ordner, daher wird es nicht gelesen.</translation>
    </message>
    <message>
        <source>This picture is larger than {0} MB, so it is not loaded.</source>
        <translation>Dieses Bild ist größer als {0} MB, daher wird es nicht geladen.</translation>
    </message>
    <message>
        <source>This picture is not there: the file was moved or deleted, or never existed.</source>
        <translation>Dieses Bild ist nicht da: Die Datei wurde verschoben oder gelöscht oder hat nie existiert.</translation>
    </message>
    <message>
        <source>This reaches outside the workspace ({0}).</source>
        <translation>Dies greift über den Arbeitsordner hinaus ({0}).</translation>
    </message>
    <message>
        <source>This session is open in another window or process.</source>
        <translation>Diese Sitzung ist in einem anderen Fenster oder Prozess geöffnet.</translation>
    </message>
    <message>
        <source>This system has no keyring to keep keys in.</source>
        <translation>Dieses System hat keinen Schlüsselbund, um Schlüssel aufzubewahren.</translation>
    </message>
    <message>
        <source>This tool is not part of the application.</source>
        <translation>Dieses Werkzeug ist keines von unseren.</translation>
    </message>
    <message>
        <source>This tool belongs to an MCP server.</source>
        <translation>Dieses Werkzeug gehört zu einem MCP-Server.</translation>
    </message>
    <message>
        <source>This uses the network.</source>
        <translation>Dies benutzt das Netz.</translation>
    </message>
    <message>
        <source>This writes git&apos;s own files.</source>
        <translation>Dies schreibt gits eigene Dateien.</translation>
    </message>
    <message>
        <source>Discards uncommitted changes, and may drop commits.</source>
        <translation>Verwirft Änderungen, die nicht committet sind, und kann Commits verlieren.</translation>
    </message>
    <message>
        <source>Discards uncommitted changes.</source>
        <translation>Verwirft Änderungen, die nicht committet sind.</translation>
    </message>
    <message>
        <source>Discards stashed changes.</source>
        <translation>Verwirft Änderungen im Stash.</translation>
    </message>
    <message>
        <source>To send it as text, put it in backquotes.</source>
        <translation>Um es als Text zu senden, setzen Sie es in Backticks.</translation>
    </message>
    <message>
        <source>To send it to the model as it is, begin with a space or a second slash.</source>
        <translation>Um es so an das Modell zu senden, beginnen Sie mit einem Leerzeichen oder einem zweiten Schrägstrich.</translation>
    </message>
    <message>
        <source>Today&apos;s conversations have cost {0}, and the limit of a day is {1}.</source>
        <translation>Die Unterhaltungen von heute haben {0} gekostet, und das Limit eines Tages ist {1}.</translation>
    </message>
    <message>
        <source>Tokens: not known yet</source>
        <translation>Token: noch nicht bekannt</translation>
    </message>
    <message>
        <source>Tokens: {0} of {1}</source>
        <translation>Token: {0} von {1}</translation>
    </message>
    <message>
        <source>Tokens: {0} of {1}, as the provider reported it</source>
        <translation>Token: {0} von {1}, wie der Anbieter gemeldet hat</translation>
    </message>
    <message>
        <source>Tokens: {0} of {1}, counted by the provider</source>
        <translation>Token: {0} von {1}, vom Anbieter gezählt</translation>
    </message>
    <message>
        <source>Tokens: {0} of {1}, estimated</source>
        <translation>Token: {0} von {1}, geschätzt</translation>
    </message>
    <message>
        <source>Touches a file that often holds secrets: {0}.</source>
        <translation>Berührt eine Datei, die oft Geheimnisse enthält: {0}.</translation>
    </message>
    <message>
        <source>Try again in a few minutes, or choose another model.</source>
        <translation>Versuchen Sie es in einigen Minuten erneut, oder wählen Sie ein anderes Modell.</translation>
    </message>
    <message>
        <source>Try again in a minute.</source>
        <translation>Versuchen Sie es in einer Minute erneut.</translation>
    </message>
    <message>
        <source>Try again {0}, or choose another model.</source>
        <translation>Versuchen Sie es erneut {0}, oder wählen Sie ein anderes Modell.</translation>
    </message>
    <message>
        <source>Try again, or use an API key.</source>
        <translation>Versuchen Sie es erneut, oder verwenden Sie einen API-Schlüssel.</translation>
    </message>
    <message>
        <source>Try again. If it stays silent, check the network.</source>
        <translation>Versuchen Sie es erneut. Bleibt es still, prüfen Sie das Netz.</translation>
    </message>
    <message>
        <source>Trying again in {0} s (try {1} of {2}).</source>
        <translation>Neuer Versuch in {0} s (Versuch {1} von {2}).</translation>
    </message>
    <message>
        <source>Turn {0} changed the same place later. Undo that first, or choose between the versions.</source>
        <translation>Runde {0} hat dieselbe Stelle später geändert. Machen Sie das zuerst rückgängig, oder wählen Sie zwischen den Fassungen.</translation>
    </message>
    <message>
        <source>Undone: {0} file.</source>
        <translation>Rückgängig gemacht: {0} Datei.</translation>
    </message>
    <message>
        <source>Undone: {0} files.</source>
        <translation>Rückgängig gemacht: {0} Dateien.</translation>
    </message>
    <message>
        <source>Unpinned {0}.</source>
        <translation>{0} ist nicht mehr angeheftet.</translation>
    </message>
    <message>
        <source>Use an https:// address if the server has one. This warning comes once.</source>
        <translation>Verwenden Sie eine https://-Adresse, wenn der Server eine hat. Diese Warnung kommt nur einmal.</translation>
    </message>
    <message>
        <source>Uses the network.</source>
        <translation>Benutzt das Netz.</translation>
    </message>
    <message>
        <source>Versions: {0}.</source>
        <translation>Fassungen: {0}.</translation>
    </message>
    <message>
        <source>Waiting for the keyring to answer. At most {0} seconds.</source>
        <translation>Wartet auf den Schlüsselbund. Höchstens {0} Sekunden.</translation>
    </message>
    <message>
        <source>Waiting for the keyring: it may ask you to unlock it. At most {0} seconds.</source>
        <translation>Wartet auf den Schlüsselbund: Er bittet Sie vielleicht, ihn zu entsperren. Höchstens {0} Sekunden.</translation>
    </message>
    <message>
        <source>Went back to before turn {0}.</source>
        <translation>Zurück zu vor Runde {0}.</translation>
    </message>
    <message>
        <source>What was pasted is not a readable picture.</source>
        <translation>Was eingefügt wurde, ist kein lesbares Bild.</translation>
    </message>
    <message>
        <source>What was said and changed can still be shown. To go on, start a new session in the folder.</source>
        <translation>Was gesagt und geändert wurde, lässt sich noch anzeigen. Um weiterzuarbeiten, beginnen Sie in dem Ordner eine neue Sitzung.</translation>
    </message>
    <message>
        <source>The price of {0} is not known, so cost limits do not apply to it.</source>
        <translation>Was {0} kostet, ist nicht bekannt, daher gilt dafür kein Kostenlimit.</translation>
    </message>
    <message>
        <source>Which pin?</source>
        <translation>Welchen angehefteten Text?</translation>
    </message>
    <message>
        <source>Write `/config set KEY=VALUE`; `/config` lists them all.</source>
        <translation>Schreiben Sie `/config set KEY=VALUE`; `/config` zählt alle auf.</translation>
    </message>
    <message>
        <source>Write `/export md PATH`; there are md, html, jsonl, patch.</source>
        <translation>Schreiben Sie `/export md PATH`; es gibt md, html, jsonl, patch.</translation>
    </message>
    <message>
        <source>Write `/model {0}/NAME`.</source>
        <translation>Schreiben Sie `/model {0}/NAME`.</translation>
    </message>
    <message>
        <source>Write `/pin add [--ttl=SECONDS] TEXT`, `/pin remove ID` or `/pin list`.</source>
        <translation>Schreiben Sie `/pin add [--ttl=SECONDS] TEXT`, `/pin remove ID` oder `/pin list`.</translation>
    </message>
    <message>
        <source>Write `/{0}` for the last {1}, or `turn N`, `call ID`, `file PATH` or `all` after it.</source>
        <translation>Schreiben Sie `/{0}` für das Letzte ({1}), oder dahinter `turn N`, `call ID`, `file PATH` oder `all`.</translation>
    </message>
    <message>
        <source>Writes to disks or devices directly.</source>
        <translation>Schreibt direkt auf Laufwerke oder Geräte.</translation>
    </message>
    <message>
        <source>Writing {0} ({1} kB)</source>
        <translation>Schreibt {0} ({1} kB)</translation>
    </message>
    <message>
        <source>You can also set the key as an environment variable, for example ANTHROPIC_API_KEY.</source>
        <translation>Sie können den Schlüssel auch als Umgebungsvariable setzen, zum Beispiel ANTHROPIC_API_KEY.</translation>
    </message>
    <message>
        <source>You can edit that summary, or undo it: nothing is lost.</source>
        <translation>Sie können diese Zusammenfassung bearbeiten oder zurücknehmen: Nichts ist verloren.</translation>
    </message>
    <message>
        <source>You changed the same lines since.</source>
        <translation>Sie haben dieselben Zeilen seither geändert.</translation>
    </message>
    <message>
        <source>Your approval policy asks before every call.</source>
        <translation>Ihre Freigaberegelung fragt vor jedem Aufruf.</translation>
    </message>
    <message>
        <source>Your files and this conversation are safe. Try again; the details are in the log.</source>
        <translation>Ihre Dateien und diese Unterhaltung sind sicher. Versuchen Sie es erneut; Einzelheiten stehen im Protokoll.</translation>
    </message>
    <message>
        <source>Your rule `{0}` no longer applies, because something that it runs here has changed.</source>
        <translation>Ihre Regel `{0}` gilt nicht mehr, weil sich etwas geändert hat, das hier ausgeführt wird.</translation>
    </message>
    <message>
        <source>Your rule `{0}` does not apply here, because the command changes to another folder.</source>
        <translation>Ihre Regel `{0}` gilt hier nicht, weil der Befehl in einen anderen Ordner wechselt.</translation>
    </message>
    <message>
        <source>Your rule `{0}` does not say in which repository it was made, so it no longer applies.</source>
        <translation>Ihre Regel `{0}` sagt nicht, in welchem Repository sie entstanden ist, und gilt deshalb nicht mehr.</translation>
    </message>
    <message>
        <source>Your rule `{0}` applies to this tool once you allow it as it is now.</source>
        <translation>Ihre Regel `{0}` gilt für dieses Werkzeug, sobald Sie es erlauben, wie es jetzt ist.</translation>
    </message>
    <message>
        <source>&apos;hosts&apos; is for an agent in the sandbox: add sandbox = &quot;restricted&quot;</source>
        <translation>„hosts“ gilt für einen Agenten in der Sandbox: Ergänzen Sie sandbox = &quot;restricted&quot;</translation>
    </message>
    <message>
        <source>7-Zip archive</source>
        <translation>7-Zip-Archiv</translation>
    </message>
    <message>
        <source>A file of the registry lists them as &quot;agents&quot;.</source>
        <translation>Eine Datei der Registry führt sie unter „agents“ auf.</translation>
    </message>
    <message>
        <source>A header for this server cannot be sent.</source>
        <translation>Ein Header für diesen Server kann nicht gesendet werden.</translation>
    </message>
    <message>
        <source>A hook kept the conversation from being summarised.</source>
        <translation>Ein Hook hat verhindert, dass das Gespräch zusammengefasst wird.</translation>
    </message>
    <message>
        <source>A newer version of Desktop Agent has written to this session, so it was left as it is.</source>
        <translation>Eine neuere Version von Desktop Agent hat in diese Sitzung geschrieben. Sie blieb deshalb unverändert.</translation>
    </message>
    <message>
        <source>A plugin cannot be fetched from {0}.</source>
        <translation>Von {0} kann kein Plugin geholt werden.</translation>
    </message>
    <message>
        <source>A running server or you changed it since, so it was left alone.</source>
        <translation>Ein laufender Server oder Sie haben sie seither geändert, daher wurde sie unberührt gelassen.</translation>
    </message>
    <message>
        <source>A running server or you may have made this change, so it was left alone. It is undone only when requested explicitly.</source>
        <translation>Sie stammt von einem laufenden Server oder von Ihnen und wurde deshalb unberührt gelassen. Sie wird nur rückgängig gemacht, wenn genau das verlangt wird.</translation>
    </message>
    <message>
        <source>A stored reference to a file&apos;s content is damaged.</source>
        <translation>Ein gespeicherter Verweis auf einen Dateiinhalt ist beschädigt.</translation>
    </message>
    <message>
        <source>A worktree starts from a commit.</source>
        <translation>Ein Worktree geht von einem Commit aus.</translation>
    </message>
    <message>
        <source>AVI video</source>
        <translation>AVI-Video</translation>
    </message>
    <message>
        <source>AVIF image</source>
        <translation>AVIF-Bild</translation>
    </message>
    <message>
        <source>Add one with `git remote add`.</source>
        <translation>Fügen Sie mit `git remote add` einen hinzu.</translation>
    </message>
    <message>
        <source>Allow the model in the console of the cloud, or choose another model.</source>
        <translation>Geben Sie das Modell in der Konsole der Cloud frei, oder wählen Sie ein anderes Modell.</translation>
    </message>
    <message>
        <source>Allowed for this server in this session.</source>
        <translation>Für diesen Server in dieser Sitzung erlaubt.</translation>
    </message>
    <message>
        <source>Allowed once.</source>
        <translation>Einmal erlaubt.</translation>
    </message>
    <message>
        <source>An agent of another program takes the turns.</source>
        <translation>Ein Agent eines anderen Programms führt die Runden aus.</translation>
    </message>
    <message>
        <source>An event cannot be recorded, so the agent stopped.</source>
        <translation>Ein Ereignis kann nicht aufgezeichnet werden, daher hat der Agent angehalten.</translation>
    </message>
    <message>
        <source>Another file that takes its place, or whose place it takes, is left out.</source>
        <translation>Eine andere Datei, die ihren Platz einnimmt oder deren Platz sie einnimmt, wird ausgelassen.</translation>
    </message>
    <message>
        <source>Another process makes or moves the worktree {0}.</source>
        <translation>Ein anderer Prozess legt den Worktree {0} an oder verschiebt ihn.</translation>
    </message>
    <message>
        <source>Another program has locked the index of git.</source>
        <translation>Ein anderes Programm hat den Index von Git gesperrt.</translation>
    </message>
    <message>
        <source>Another session changed it since, so it was left alone.</source>
        <translation>Eine andere Sitzung hat sie seither geändert; diese Fassung wurde unberührt gelassen.</translation>
    </message>
    <message>
        <source>Another session&apos;s command ran at the same time and may have made this change. To undo it, select only this file.</source>
        <translation>Der Befehl einer anderen Sitzung lief gleichzeitig und kann diese Änderung gemacht haben. Um sie rückgängig zu machen, wählen Sie nur diese Datei aus.</translation>
    </message>
    <message>
        <source>Another version of {0} is staged.</source>
        <translation>Eine andere Version von {0} ist vorgemerkt.</translation>
    </message>
    <message>
        <source>Ask for less at a time, or raise call_timeout_seconds of this server.</source>
        <translation>Fragen Sie weniger auf einmal, oder erhöhen Sie call_timeout_seconds dieses Servers.</translation>
    </message>
    <message>
        <source>Ask who runs it, or change the variable that names it.</source>
        <translation>Fragen Sie, wer ihn betreibt, oder ändern Sie die Variable, die ihn nennt.</translation>
    </message>
    <message>
        <source>Ask whoever runs the proxy, or change {0}.</source>
        <translation>Fragen Sie den Betreiber des Proxys, oder ändern Sie {0}.</translation>
    </message>
    <message>
        <source>BMP image</source>
        <translation>BMP-Bild</translation>
    </message>
    <message>
        <source>Bring back the worktree {0}.</source>
        <translation>Den Worktree {0} zurückholen.</translation>
    </message>
    <message>
        <source>Call it again: that reconnects.</source>
        <translation>Rufen Sie ihn erneut auf, das verbindet neu.</translation>
    </message>
    <message>
        <source>Change the list in the settings.</source>
        <translation>Ändern Sie die Liste in den Einstellungen.</translation>
    </message>
    <message>
        <source>Changes of the variants clash, so nothing was taken.</source>
        <translation>Änderungen der Varianten widersprechen sich, daher wurde nichts übernommen.</translation>
    </message>
    <message>
        <source>Check `issuer` in its definition. If it is right, do not use this server.</source>
        <translation>Prüfen Sie `issuer` in seiner Definition. Stimmt es, verwenden Sie diesen Server nicht.</translation>
    </message>
    <message>
        <source>Check the address and the network connection.</source>
        <translation>Prüfen Sie die Adresse und die Netzwerkverbindung.</translation>
    </message>
    <message>
        <source>Check the address.</source>
        <translation>Prüfen Sie die Adresse.</translation>
    </message>
    <message>
        <source>Check the application&apos;s data folder: `desktop-agent doctor`.</source>
        <translation>Prüfen Sie den Datenordner der Anwendung: `desktop-agent doctor`.</translation>
    </message>
    <message>
        <source>Check the file again. Your text was not lost.</source>
        <translation>Prüfen Sie die Datei noch einmal. Ihr Text ist nicht verloren.</translation>
    </message>
    <message>
        <source>Check the free space.</source>
        <translation>Prüfen Sie den freien Speicherplatz.</translation>
    </message>
    <message>
        <source>Check the model&apos;s address, and a gateway before it: compression must be off.</source>
        <translation>Prüfen Sie die Adresse des Modells und ein Gateway davor: Die Komprimierung muss ausgeschaltet sein.</translation>
    </message>
    <message>
        <source>Check the model&apos;s address, or use another model. Nothing of the answer was acted on.</source>
        <translation>Prüfen Sie die Adresse des Modells, oder verwenden Sie ein anderes. Nichts aus der Antwort wurde ausgeführt.</translation>
    </message>
    <message>
        <source>Check the network connection and try again.</source>
        <translation>Prüfen Sie die Netzwerkverbindung und versuchen Sie es noch einmal.</translation>
    </message>
    <message>
        <source>Check the path of its URL; for many it is /mcp.</source>
        <translation>Prüfen Sie den Pfad der URL; bei vielen ist er /mcp.</translation>
    </message>
    <message>
        <source>Check the region and the address of the account, or the environment variables that they come from.</source>
        <translation>Prüfen Sie Region und Adresse des Kontos oder die Umgebungsvariablen, aus denen sie stammen.</translation>
    </message>
    <message>
        <source>Check the secret of its client_id.</source>
        <translation>Prüfen Sie das Geheimnis der client_id.</translation>
    </message>
    <message>
        <source>Choose another model, or a region that has it.</source>
        <translation>Wählen Sie ein anderes Modell oder eine Region, die es hat.</translation>
    </message>
    <message>
        <source>Choose another name with --account.</source>
        <translation>Wählen Sie mit --account einen anderen Namen.</translation>
    </message>
    <message>
        <source>Choose another name.</source>
        <translation>Wählen Sie einen anderen Namen.</translation>
    </message>
    <message>
        <source>Choose one below the message field, or name one with --agent.</source>
        <translation>Wählen Sie einen unter dem Nachrichtenfeld, oder nennen Sie einen mit --agent.</translation>
    </message>
    <message>
        <source>Claude Code is signed in on this machine. Anthropic does not permit other applications to use the sign-in of a Claude subscription, so it is not read.</source>
        <translation>Claude Code ist auf diesem Rechner angemeldet. Anthropic erlaubt anderen Anwendungen nicht, die Anmeldung eines Claude-Abonnements zu verwenden, deshalb wird sie nicht gelesen.</translation>
    </message>
    <message>
        <source>Close it, then try again.</source>
        <translation>Schließen Sie sie, und versuchen Sie es dann noch einmal.</translation>
    </message>
    <message>
        <source>Close older sign-in pages, then sign in again.</source>
        <translation>Schließen Sie ältere Anmeldeseiten, und melden Sie sich dann erneut an.</translation>
    </message>
    <message>
        <source>Close the program that uses the port, or register another port with the service.</source>
        <translation>Schließen Sie das Programm, das den Port benutzt, oder registrieren Sie beim Dienst einen anderen Port.</translation>
    </message>
    <message>
        <source>Codex is signed in with ChatGPT on this machine. Its tokens can be used once each: another program that uses them signs Codex out.</source>
        <translation>Codex ist auf diesem Rechner mit ChatGPT angemeldet. Seine Token gelten je nur einmal: Ein anderes Programm, das sie verwendet, meldet Codex ab.</translation>
    </message>
    <message>
        <source>Commit something first.</source>
        <translation>Committen Sie zuerst etwas.</translation>
    </message>
    <message>
        <source>Compression must be off, also in a gateway before it.</source>
        <translation>Die Komprimierung muss ausgeschaltet sein, auch in einem Gateway davor.</translation>
    </message>
    <message>
        <source>Copy the part that the model may read into another file, and include that file.</source>
        <translation>Kopieren Sie den Teil, den das Modell lesen darf, in eine andere Datei, und geben Sie diese mit.</translation>
    </message>
    <message>
        <source>ELF file</source>
        <translation>ELF-Datei</translation>
    </message>
    <message>
        <source>ELF object file</source>
        <translation>ELF-Objektdatei</translation>
    </message>
    <message>
        <source>ELF program</source>
        <translation>ELF-Programm</translation>
    </message>
    <message>
        <source>ELF program or shared library</source>
        <translation>ELF-Programm oder gemeinsame Bibliothek</translation>
    </message>
    <message>
        <source>Enter a key in Settings, or run `{0}`{1}.</source>
        <translation>Geben Sie einen Schlüssel in den Einstellungen ein, oder führen Sie `{0}`{1} aus.</translation>
    </message>
    <message>
        <source>Everything before that record is intact. The incomplete record was saved.</source>
        <translation>Alles vor diesem Eintrag ist da. Der unvollständige Eintrag wurde aufbewahrt.</translation>
    </message>
    <message>
        <source>Export the conversation or its changes to a file</source>
        <translation>Die Unterhaltung oder ihre Änderungen in eine Datei exportieren</translation>
    </message>
    <message>
        <source>FLAC audio</source>
        <translation>FLAC-Audio</translation>
    </message>
    <message>
        <source>Files that it changed there are not in the review.</source>
        <translation>Dateien, die dort geändert wurden, stehen nicht in der Prüfung.</translation>
    </message>
    <message>
        <source>Files that it runs are not as you trusted them, so it was not started.</source>
        <translation>Dateien, die er ausführt, sind nicht so, wie Sie ihnen vertraut haben; deshalb wurde er nicht gestartet.</translation>
    </message>
    <message>
        <source>Files that the agent {0} runs are not as you trusted them, so it was not started.</source>
        <translation>Dateien, die der Agent {0} ausführt, sind nicht so, wie Sie ihnen vertraut haben; deshalb wurde er nicht gestartet.</translation>
    </message>
    <message>
        <source>Fix {0} first, or ignore it.</source>
        <translation>Korrigieren Sie zuerst {0}, oder ignorieren Sie die Datei.</translation>
    </message>
    <message>
        <source>Fix {0} first.</source>
        <translation>Korrigieren Sie zuerst {0}.</translation>
    </message>
    <message>
        <source>For one that your organisation made, let SSL_CERT_FILE name the file with its authority.</source>
        <translation>Stammt es von Ihrer Organisation, lassen Sie SSL_CERT_FILE die Datei mit ihrer Zertifizierungsstelle nennen.</translation>
    </message>
    <message>
        <source>Free some disk space.</source>
        <translation>Schaffen Sie Platz auf dem Datenträger.</translation>
    </message>
    <message>
        <source>GIF image</source>
        <translation>GIF-Bild</translation>
    </message>
    <message>
        <source>Get a token from the service, and give it as a header: --header &apos;Authorization=Bearer …&apos;.</source>
        <translation>Holen Sie sich beim Dienst ein Token, und geben Sie es als Header an: --header &apos;Authorization=Bearer …&apos;.</translation>
    </message>
    <message>
        <source>Get one in LM Studio, or with `lms get NAME`.</source>
        <translation>Laden Sie eines in LM Studio oder mit `lms get NAME`.</translation>
    </message>
    <message>
        <source>Get one with `ollama pull NAME`.</source>
        <translation>Laden Sie eines mit `ollama pull NAME`.</translation>
    </message>
    <message>
        <source>Get them with `git pull`, and push then.</source>
        <translation>Holen Sie sie mit `git pull`, und pushen Sie dann.</translation>
    </message>
    <message>
        <source>Git ignores it.</source>
        <translation>Git ignoriert sie.</translation>
    </message>
    <message>
        <source>Git no longer has its earlier content.</source>
        <translation>Git hat ihren früheren Inhalt nicht mehr.</translation>
    </message>
    <message>
        <source>Give it a key as a secret variable, with `{0}`. Then try again.</source>
        <translation>Geben Sie ihm mit `{0}` einen Schlüssel als geheime Variable. Versuchen Sie es dann erneut.</translation>
    </message>
    <message>
        <source>Go back to before TURN, by default with conversation and files; without TURN, list the turns</source>
        <translation>Vor TURN zurückgehen, ohne weitere Angabe mit Unterhaltung und Dateien; ohne TURN die Runden auflisten</translation>
    </message>
    <message>
        <source>HDF5 data</source>
        <translation>HDF5-Daten</translation>
    </message>
    <message>
        <source>HEAD does not have this file. Commit the file itself with git first.</source>
        <translation>HEAD hat diese Datei nicht. Committen Sie zuerst die Datei selbst mit Git.</translation>
    </message>
    <message>
        <source>HEAD has another file at this path.</source>
        <translation>HEAD hat unter diesem Pfad eine andere Datei.</translation>
    </message>
    <message>
        <source>HEAD has other lines in the same place.</source>
        <translation>HEAD hat an derselben Stelle andere Zeilen.</translation>
    </message>
    <message>
        <source>HEAD has these changes already.</source>
        <translation>HEAD hat diese Änderungen schon.</translation>
    </message>
    <message>
        <source>HEAD was moved meanwhile, or cannot be moved.</source>
        <translation>HEAD wurde inzwischen bewegt oder kann nicht bewegt werden.</translation>
    </message>
    <message>
        <source>HEIC image</source>
        <translation>HEIC-Bild</translation>
    </message>
    <message>
        <source>Has ended. The agent reads its report before its next step.</source>
        <translation>Ist fertig. Der Agent liest den Bericht vor seinem nächsten Schritt.</translation>
    </message>
    <message>
        <source>Headers have only letters of ASCII, in one line.</source>
        <translation>Header enthalten nur ASCII-Zeichen, in einer Zeile.</translation>
    </message>
    <message>
        <source>If something is missing, send “go on”.</source>
        <translation>Falls etwas fehlt, schreiben Sie „weiter“.</translation>
    </message>
    <message>
        <source>If that is {0}, enter its key in Settings.</source>
        <translation>Ist das {0}, geben Sie seinen Schlüssel in den Einstellungen ein.</translation>
    </message>
    <message>
        <source>If {0} is right, enter it as the model&apos;s address in Settings or with --base-url.</source>
        <translation>Ist {0} richtig, geben Sie es in den Einstellungen oder mit --base-url als Adresse des Modells ein.</translation>
    </message>
    <message>
        <source>If {0} runs on another port, add an account with its address in Settings.</source>
        <translation>Läuft {0} auf einem anderen Port, fügen Sie in den Einstellungen ein Konto mit der Adresse hinzu.</translation>
    </message>
    <message>
        <source>Input schema:</source>
        <translation>Eingabeschema:</translation>
    </message>
    <message>
        <source>Inspects pages in Chrome: console, network, performance.</source>
        <translation>Untersucht Seiten in Chrome: Konsole, Netz, Leistung.</translation>
    </message>
    <message>
        <source>Install Docker, or give its whole path.</source>
        <translation>Installieren Sie Docker, oder geben Sie den vollständigen Pfad an.</translation>
    </message>
    <message>
        <source>Install it, or give its whole path.</source>
        <translation>Installieren Sie es, oder geben Sie den vollständigen Pfad an.</translation>
    </message>
    <message>
        <source>Install it, or put it on your PATH.</source>
        <translation>Installieren Sie es, oder nehmen Sie es in Ihren PATH auf.</translation>
    </message>
    <message>
        <source>Install them with {0}.</source>
        <translation>Installieren Sie sie mit {0}.</translation>
    </message>
    <message>
        <source>Instructions written for other agents are used, too: {0}.</source>
        <translation>Auch Anweisungen, die für andere Agenten geschrieben wurden, werden verwendet: {0}.</translation>
    </message>
    <message>
        <source>It answered with a result of the kind {0}, which is not supported here.</source>
        <translation>Er antwortete mit einem Ergebnis der Art {0}, die hier nicht unterstützt wird.</translation>
    </message>
    <message>
        <source>It answered with a task, which is not supported here.</source>
        <translation>Er antwortete mit einem Task, was hier nicht unterstützt wird.</translation>
    </message>
    <message>
        <source>It asked for no sign-in.</source>
        <translation>Er verlangte keine Anmeldung.</translation>
    </message>
    <message>
        <source>It asks for the conversation as well, and does not get it.</source>
        <translation>Er fragt auch nach der Unterhaltung und bekommt sie nicht.</translation>
    </message>
    <message>
        <source>It became a hard link to another file. A redo after an undo makes it a separate file.</source>
        <translation>Sie wurde ein Hardlink auf eine andere Datei. Ein Wiederherstellen nach dem Rückgängigmachen macht sie zu einer eigenen Datei.</translation>
    </message>
    <message>
        <source>It belongs to another repository in the worktree.</source>
        <translation>Sie gehört zu einem anderen Repository im Worktree.</translation>
    </message>
    <message>
        <source>It belongs to the repository in {0}.</source>
        <translation>Sie gehört zum Repository in {0}.</translation>
    </message>
    <message>
        <source>It can be used as it is: `desktop-agent mcp test NAME`.</source>
        <translation>Er kann verwendet werden, wie er ist: `desktop-agent mcp test NAME`.</translation>
    </message>
    <message>
        <source>It changed its tools and did not list them within {0} s.</source>
        <translation>Er hat seine Werkzeuge geändert und sie nicht innerhalb von {0} s aufgelistet.</translation>
    </message>
    <message>
        <source>It changed on disk or cannot be written. Nothing was changed.</source>
        <translation>Sie hat sich auf der Platte geändert oder kann nicht geschrieben werden. Es wurde nichts geändert.</translation>
    </message>
    <message>
        <source>It comes with Node.js: install that, or give the whole path of npx.</source>
        <translation>Es gehört zu Node.js: Installieren Sie das, oder geben Sie den vollständigen Pfad von npx an.</translation>
    </message>
    <message>
        <source>It comes with uv: install that, or give the whole path of uvx.</source>
        <translation>Es gehört zu uv: Installieren Sie das, oder geben Sie den vollständigen Pfad von uvx an.</translation>
    </message>
    <message>
        <source>It compressed its answer, although it was asked not to, so the answer was not read.</source>
        <translation>Er hat seine Antwort komprimiert, obwohl das nicht erwünscht war, daher wurde sie nicht gelesen.</translation>
    </message>
    <message>
        <source>It could not be confined, so it was not started: {0}</source>
        <translation>Er konnte nicht eingeschränkt werden und wurde deshalb nicht gestartet: {0}</translation>
    </message>
    <message>
        <source>It could not be reached: {0}.</source>
        <translation>Er war nicht erreichbar: {0}.</translation>
    </message>
    <message>
        <source>It could not be started: {0}</source>
        <translation>Er konnte nicht gestartet werden: {0}</translation>
    </message>
    <message>
        <source>It did not answer within {0} s of its start.</source>
        <translation>Er antwortete nicht innerhalb von {0} s nach dem Start.</translation>
    </message>
    <message>
        <source>It did not answer within {0} s.</source>
        <translation>Er hat nicht innerhalb von {0} s geantwortet.</translation>
    </message>
    <message>
        <source>It did not stop when it was asked to.</source>
        <translation>Es hielt nicht an, als es darum gebeten wurde.</translation>
    </message>
    <message>
        <source>It does not read what it is sent.</source>
        <translation>Er liest nicht, was ihm gesendet wird.</translation>
    </message>
    <message>
        <source>It does not run.</source>
        <translation>Er läuft nicht.</translation>
    </message>
    <message>
        <source>It does not take the sign-in that its own authorisation server granted.</source>
        <translation>Er nimmt die Anmeldung nicht an, die sein eigener Autorisierungsserver erteilt hat.</translation>
    </message>
    <message>
        <source>It ended by itself.</source>
        <translation>Er hat sich von selbst beendet.</translation>
    </message>
    <message>
        <source>It ended with code {0}.</source>
        <translation>Er endete mit Code {0}.</translation>
    </message>
    <message>
        <source>It ended with exit code {0}.</source>
        <translation>Er hat sich mit dem Exit-Code {0} beendet.</translation>
    </message>
    <message>
        <source>It failed unexpectedly: {0}</source>
        <translation>Er ist unerwartet fehlgeschlagen: {0}</translation>
    </message>
    <message>
        <source>It gave no answer.</source>
        <translation>Er gab keine Antwort.</translation>
    </message>
    <message>
        <source>It has conflicts in the worktree. Resolve them there first.</source>
        <translation>Sie hat im Worktree Konflikte. Lösen Sie diese zuerst dort.</translation>
    </message>
    <message>
        <source>It has many new files that were not copied. An undo leaves them in place.</source>
        <translation>Er hat viele neue Dateien, die nicht kopiert wurden. Ein Rückgängigmachen lässt sie dort.</translation>
    </message>
    <message>
        <source>It is a merge.</source>
        <translation>Er ist eine Zusammenführung.</translation>
    </message>
    <message>
        <source>It is a picture that is too large for a model.</source>
        <translation>Es ist ein Bild, das für ein Modell zu groß ist.</translation>
    </message>
    <message>
        <source>It is a picture, and this session&apos;s model does not accept pictures.</source>
        <translation>Es ist ein Bild, und das Modell dieser Sitzung nimmt keine Bilder an.</translation>
    </message>
    <message>
        <source>It is a picture{0} with {1} bytes, which is more than a model accepts.</source>
        <translation>Es ist ein Bild{0} mit {1} Bytes, mehr als ein Modell nimmt.</translation>
    </message>
    <message>
        <source>It is another program: it works with its own rights, outside the sandbox, in a git worktree of its own.</source>
        <translation>Es ist ein anderes Programm: Es arbeitet mit eigenen Rechten, außerhalb der Sandbox, in einem eigenen Git-Worktree.</translation>
    </message>
    <message>
        <source>It is not kept any more.</source>
        <translation>Es wird nicht mehr aufbewahrt.</translation>
    </message>
    <message>
        <source>It is not known which remote to push to.</source>
        <translation>Es ist nicht klar, zu welchem Remote gepusht werden soll.</translation>
    </message>
    <message>
        <source>It is not signed in.</source>
        <translation>Er ist nicht angemeldet.</translation>
    </message>
    <message>
        <source>It is not the last commit any more.</source>
        <translation>Er ist nicht mehr der letzte Commit.</translation>
    </message>
    <message>
        <source>It is only for the server&apos;s own interactive view, which is not shown here.</source>
        <translation>Es ist nur für die eigene interaktive Ansicht des Servers, die hier nicht gezeigt wird.</translation>
    </message>
    <message>
        <source>It is sent there only. Take the account out and sign in again, or use a key.</source>
        <translation>Sie wird nur dorthin gesendet. Entfernen Sie das Konto und melden Sie sich erneut an, oder verwenden Sie einen Schlüssel.</translation>
    </message>
    <message>
        <source>It is the worktree {0}. `desktop-agent worktrees restore {1}` puts it back.</source>
        <translation>Es ist der Worktree {0}. `desktop-agent worktrees restore {1}` stellt ihn wieder her.</translation>
    </message>
    <message>
        <source>It is tried again in {0} s.</source>
        <translation>In {0} s wird er erneut versucht.</translation>
    </message>
    <message>
        <source>It is tried again when it is needed. Its own log says more.</source>
        <translation>Er wird wieder versucht, sobald er gebraucht wird. Sein eigenes Protokoll sagt mehr.</translation>
    </message>
    <message>
        <source>It keeps its context by itself.</source>
        <translation>Es verwaltet seinen Kontext selbst.</translation>
    </message>
    <message>
        <source>It leads to another authorisation server than {0}.</source>
        <translation>Er führt zu einem anderen Autorisierungsserver als {0}.</translation>
    </message>
    <message>
        <source>It may have a mode of its own for that, among its options.</source>
        <translation>Vielleicht hat es unter seinen Optionen einen eigenen Modus dafür.</translation>
    </message>
    <message>
        <source>It may have an option for it.</source>
        <translation>Vielleicht hat es dafür eine Option.</translation>
    </message>
    <message>
        <source>It must be a PEM without a passphrase.</source>
        <translation>Er muss ein PEM ohne Passphrase sein.</translation>
    </message>
    <message>
        <source>It must be of RSA, of a NIST curve, or Ed25519.</source>
        <translation>Er muss RSA, eine NIST-Kurve oder Ed25519 verwenden.</translation>
    </message>
    <message>
        <source>It must run in the sandbox, and nothing here confines servers, so it was not started.</source>
        <translation>Er muss in der Sandbox laufen, und hier schränkt nichts Server ein; deshalb wurde er nicht gestartet.</translation>
    </message>
    <message>
        <source>It must run in the sandbox, and this machine has none.</source>
        <translation>Er muss in der Sandbox laufen, und dieser Rechner hat keine.</translation>
    </message>
    <message>
        <source>It names {0}, on this machine, for the sign-in. Nothing was sent there.</source>
        <translation>Er nennt für die Anmeldung {0} auf diesem Rechner. Dorthin wurde nichts gesendet.</translation>
    </message>
    <message>
        <source>It needs you to allow more: {0}.</source>
        <translation>Er braucht weitere Erlaubnisse von Ihnen: {0}.</translation>
    </message>
    <message>
        <source>It needs you to sign in.</source>
        <translation>Sie müssen sich bei ihm anmelden.</translation>
    </message>
    <message>
        <source>It prefers a certain kind of model, which is ignored.</source>
        <translation>Er bevorzugt eine bestimmte Art von Modell, was ignoriert wird.</translation>
    </message>
    <message>
        <source>It printed more than {0} MiB, and was ended.</source>
        <translation>Er gab mehr als {0} MiB aus und wurde beendet.</translation>
    </message>
    <message>
        <source>It runs only as a task, which is not supported here.</source>
        <translation>Es läuft nur als Task, was hier nicht unterstützt wird.</translation>
    </message>
    <message>
        <source>It said more than {0} MiB in one turn.</source>
        <translation>Es sagte mehr als {0} MiB in einer Runde.</translation>
    </message>
    <message>
        <source>It sends more messages than can be read.</source>
        <translation>Er sendet mehr Nachrichten, als gelesen werden können.</translation>
    </message>
    <message>
        <source>It sent a message of more than {0} MiB.</source>
        <translation>Er hat eine Nachricht von mehr als {0} MiB gesendet.</translation>
    </message>
    <message>
        <source>It sets a temperature or stop sequences, which are ignored.</source>
        <translation>Er gibt eine Temperatur oder Stoppsequenzen vor, die ignoriert werden.</translation>
    </message>
    <message>
        <source>It should begin with https:// or ssh://, or be written as user@host:path.</source>
        <translation>Sie sollte mit https:// oder ssh:// beginnen oder als user@host:path geschrieben sein.</translation>
    </message>
    <message>
        <source>It speaks version {0} of the protocol, which is not known here.</source>
        <translation>Er spricht Version {0} des Protokolls, die hier nicht bekannt ist.</translation>
    </message>
    <message>
        <source>It takes a key in {0}: `{1}` puts it into your keyring.</source>
        <translation>Er nimmt einen Schlüssel in {0}: `{1}` legt ihn in Ihren Schlüsselbund.</translation>
    </message>
    <message>
        <source>It took longer than {0} s, and was ended.</source>
        <translation>Er brauchte länger als {0} s und wurde beendet.</translation>
    </message>
    <message>
        <source>It took too long.</source>
        <translation>Es hat zu lange gedauert.</translation>
    </message>
    <message>
        <source>It wants a credential, and does not say in a valid way where to sign in.</source>
        <translation>Er verlangt Zugangsdaten und sagt nicht gültig, wo man sich anmeldet.</translation>
    </message>
    <message>
        <source>It wants up to {0} tokens of answer, and gets {1}.</source>
        <translation>Er möchte bis zu {0} Tokens Antwort und bekommt {1}.</translation>
    </message>
    <message>
        <source>It was a hard link to a file that is not a regular file of this folder, and that file keeps the previous content.</source>
        <translation>Sie war ein Hardlink auf eine Datei, die keine gewöhnliche Datei dieses Ordners ist und den vorherigen Inhalt behält.</translation>
    </message>
    <message>
        <source>It was a hard link to another file. An undo restores it as a separate file.</source>
        <translation>Sie war ein Hardlink auf eine andere Datei. Ein Rückgängigmachen stellt sie als eigene Datei wieder her.</translation>
    </message>
    <message>
        <source>It was a hard link to the same file as {0}, which keeps the previous content.</source>
        <translation>Sie war ein Hardlink auf dieselbe Datei wie {0}, die den vorherigen Inhalt behält.</translation>
    </message>
    <message>
        <source>It was changed at that very moment, so it was left alone.</source>
        <translation>Sie wurde genau in diesem Moment geändert; diese Fassung wurde unberührt gelassen.</translation>
    </message>
    <message>
        <source>It was changed since, so it was left alone.</source>
        <translation>Sie wurde seither geändert; diese Fassung wurde unberührt gelassen.</translation>
    </message>
    <message>
        <source>It was ended by signal {0}.</source>
        <translation>Er wurde durch das Signal {0} beendet.</translation>
    </message>
    <message>
        <source>It was restarted in the meantime.</source>
        <translation>Er wurde inzwischen neu gestartet.</translation>
    </message>
    <message>
        <source>It was stopped before it was ready.</source>
        <translation>Er wurde beendet, bevor er bereit war.</translation>
    </message>
    <message>
        <source>It was stopped.</source>
        <translation>Er wurde beendet.</translation>
    </message>
    <message>
        <source>It, or a script of it, changed since you trusted it, so it did not run.</source>
        <translation>Er oder eines seiner Skripte hat sich geändert, seit Sie ihm vertrauten, daher lief er nicht.</translation>
    </message>
    <message>
        <source>Its URL is not a web address.</source>
        <translation>Seine URL ist keine Webadresse.</translation>
    </message>
    <message>
        <source>Its answer cannot be read.</source>
        <translation>Seine Antwort ist nicht lesbar.</translation>
    </message>
    <message>
        <source>Its answer cannot be used: {0}.</source>
        <translation>Seine Antwort kann nicht verwendet werden: {0}.</translation>
    </message>
    <message>
        <source>Its answer does not follow the protocol.</source>
        <translation>Seine Antwort entspricht nicht dem Protokoll.</translation>
    </message>
    <message>
        <source>Its answer does not follow the protocol; it may be a web page.</source>
        <translation>Seine Antwort entspricht nicht dem Protokoll; vielleicht ist sie eine Webseite.</translation>
    </message>
    <message>
        <source>Its answer is not valid JSON.</source>
        <translation>Seine Antwort ist kein gültiges JSON.</translation>
    </message>
    <message>
        <source>Its authorisation server does not register this application.</source>
        <translation>Sein Autorisierungsserver registriert diese Anwendung nicht.</translation>
    </message>
    <message>
        <source>Its authorisation server refused to finish the sign-in.</source>
        <translation>Sein Autorisierungsserver lehnte es ab, die Anmeldung abzuschließen.</translation>
    </message>
    <message>
        <source>Its changes so far are kept. Raise the cost limit, or continue the session.</source>
        <translation>Die bisherigen Änderungen bleiben. Erhöhen Sie das Kostenlimit, oder machen Sie mit der Sitzung weiter.</translation>
    </message>
    <message>
        <source>Its log says which. While it is downloaded it reaches {0} and sees no files.</source>
        <translation>Sein Protokoll sagt, was zutrifft. Während es heruntergeladen wird, erreicht es {0} und sieht keine Dateien.</translation>
    </message>
    <message>
        <source>Its next requests are sent without an effort. Choose another model, or reset the effort with /effort default.</source>
        <translation>Die nächsten Anfragen werden ohne Aufwand gesendet. Wählen Sie ein anderes Modell, oder setzen Sie den Aufwand mit /effort default zurück.</translation>
    </message>
    <message>
        <source>Its options are known once it has started, with the first message.</source>
        <translation>Seine Optionen sind bekannt, sobald es gestartet ist, also mit der ersten Nachricht.</translation>
    </message>
    <message>
        <source>Its secrets are in the keyring, which is not asked here.</source>
        <translation>Seine Geheimnisse liegen im Schlüsselbund, der hier nicht gefragt wird.</translation>
    </message>
    <message>
        <source>Its servers wait until you allow it again: Settings, Plugins.</source>
        <translation>Seine Server warten, bis Sie es wieder erlauben: Einstellungen, Plugins.</translation>
    </message>
    <message>
        <source>Its submodules are empty. `git submodule update --init` in the worktree fills them.</source>
        <translation>Seine Submodule sind leer. `git submodule update --init` im Worktree füllt sie.</translation>
    </message>
    <message>
        <source>JPEG 2000 image</source>
        <translation>JPEG-2000-Bild</translation>
    </message>
    <message>
        <source>JPEG XL image</source>
        <translation>JPEG-XL-Bild</translation>
    </message>
    <message>
        <source>JPEG image</source>
        <translation>JPEG-Bild</translation>
    </message>
    <message>
        <source>Java class</source>
        <translation>Java-Klasse</translation>
    </message>
    <message>
        <source>Keep a text in the model&apos;s context, even after compactions</source>
        <translation>Einen Text im Kontext des Modells halten, auch nach Zusammenfassungen</translation>
    </message>
    <message>
        <source>Known providers: {0}.</source>
        <translation>Bekannte Anbieter: {0}.</translation>
    </message>
    <message>
        <source>Leave these files out, or bring them back from one worktree, where each clash can be settled.</source>
        <translation>Lassen Sie diese Dateien weg, oder holen Sie sie aus einem einzelnen Worktree zurück: Dort lässt sich jeder Konflikt klären.</translation>
    </message>
    <message>
        <source>Left out for this model: {0}. The conversation itself keeps everything.</source>
        <translation>Für dieses Modell weggelassen: {0}. Die Unterhaltung selbst behält alles.</translation>
    </message>
    <message>
        <source>Let the agent write one: switch on planning, and say what you want.</source>
        <translation>Lassen Sie den Agenten einen schreiben: Schalten Sie das Planen ein und sagen Sie, was Sie wollen.</translation>
    </message>
    <message>
        <source>Let {0} do this: {1}?</source>
        <translation>{0} dies tun lassen: {1}?</translation>
    </message>
    <message>
        <source>Look again in a moment, or restart {0}.</source>
        <translation>Sehen Sie gleich noch einmal nach, oder starten Sie {0} neu.</translation>
    </message>
    <message>
        <source>Look again in a moment.</source>
        <translation>Sehen Sie gleich noch einmal nach.</translation>
    </message>
    <message>
        <source>Look at the variants again, then choose.</source>
        <translation>Sehen Sie sich die Varianten noch einmal an, und wählen Sie dann.</translation>
    </message>
    <message>
        <source>Look at them, and trust the project again: Settings, Project, or `desktop-agent config trust`.</source>
        <translation>Sehen Sie sie an, und vertrauen Sie dem Projekt erneut: Einstellungen, Projekt, oder `desktop-agent config trust`.</translation>
    </message>
    <message>
        <source>MCP servers over HTTP</source>
        <translation>MCP-Server über HTTP</translation>
    </message>
    <message>
        <source>MP3 audio</source>
        <translation>MP3-Audio</translation>
    </message>
    <message>
        <source>MP4 media</source>
        <translation>MP4-Medien</translation>
    </message>
    <message>
        <source>Make a branch first.</source>
        <translation>Legen Sie zuerst einen Branch an.</translation>
    </message>
    <message>
        <source>Make one with `git init`.</source>
        <translation>Legen Sie mit `git init` eines an.</translation>
    </message>
    <message>
        <source>Matroska or WebM video</source>
        <translation>Matroska- oder WebM-Video</translation>
    </message>
    <message>
        <source>Move away what is there, and try again.</source>
        <translation>Verschieben Sie, was dort liegt, und versuchen Sie es erneut.</translation>
    </message>
    <message>
        <source>Move it away, then try again.</source>
        <translation>Verschieben Sie es, und versuchen Sie es dann noch einmal.</translation>
    </message>
    <message>
        <source>Move it back with `git worktree move {0} {1}`.</source>
        <translation>Verschieben Sie ihn mit `git worktree move {0} {1}` zurück.</translation>
    </message>
    <message>
        <source>Move it back with `git worktree move`, or remove it with `git worktree remove`.</source>
        <translation>Verschieben Sie ihn mit `git worktree move` zurück, oder entfernen Sie ihn mit `git worktree remove`.</translation>
    </message>
    <message>
        <source>Name one in the settings, or with --model.</source>
        <translation>Nennen Sie eines in den Einstellungen oder mit --model.</translation>
    </message>
    <message>
        <source>Name one with `git config remote.pushDefault`.</source>
        <translation>Nennen Sie einen mit `git config remote.pushDefault`.</translation>
    </message>
    <message>
        <source>Name the plugin&apos;s folder in the repository.</source>
        <translation>Nennen Sie den Ordner des Plugins im Repository.</translation>
    </message>
    <message>
        <source>No agent is named.</source>
        <translation>Es ist kein Agent genannt.</translation>
    </message>
    <message>
        <source>No agent of another program is running.</source>
        <translation>Es läuft kein Agent eines anderen Programms.</translation>
    </message>
    <message>
        <source>No branch is checked out, so there is nothing to push.</source>
        <translation>Es ist kein Branch ausgecheckt, deshalb gibt es nichts zu pushen.</translation>
    </message>
    <message>
        <source>No model can be asked here.</source>
        <translation>Hier kann kein Modell gefragt werden.</translation>
    </message>
    <message>
        <source>No model can write the message.</source>
        <translation>Kein Modell kann die Nachricht schreiben.</translation>
    </message>
    <message>
        <source>No plugin named {0} was added.</source>
        <translation>Es wurde kein Plugin namens {0} hinzugefügt.</translation>
    </message>
    <message>
        <source>No profile of Anthropic&apos;s tools is signed in.</source>
        <translation>Kein Profil der Werkzeuge von Anthropic ist angemeldet.</translation>
    </message>
    <message>
        <source>No such change to {0} is recorded.</source>
        <translation>Eine solche Änderung von {0} ist nicht aufgezeichnet.</translation>
    </message>
    <message>
        <source>No turn of this session runs any more.</source>
        <translation>In dieser Sitzung läuft keine Runde mehr.</translation>
    </message>
    <message>
        <source>No user was there to allow it.</source>
        <translation>Niemand war da, um es zu erlauben.</translation>
    </message>
    <message>
        <source>None is defined: `desktop-agent {0} add` defines one.</source>
        <translation>Keiner ist definiert: `desktop-agent {0} add` definiert einen.</translation>
    </message>
    <message>
        <source>Not everything could be removed.</source>
        <translation>Nicht alles konnte entfernt werden.</translation>
    </message>
    <message>
        <source>Nothing is left of it.</source>
        <translation>Es ist nichts davon übrig.</translation>
    </message>
    <message>
        <source>Nothing listens at {0}.</source>
        <translation>An {0} nimmt nichts Verbindungen an.</translation>
    </message>
    <message>
        <source>Nothing of that name was pasted.</source>
        <translation>Unter diesem Namen wurde nichts eingefügt.</translation>
    </message>
    <message>
        <source>Nothing was changed.</source>
        <translation>Es wurde nichts geändert.</translation>
    </message>
    <message>
        <source>Nothing was changed. Check it with `git fsck`.</source>
        <translation>Es wurde nichts geändert. Prüfen Sie es mit `git fsck`.</translation>
    </message>
    <message>
        <source>Nothing was changed. Commit or stash what would be lost, and switch then.</source>
        <translation>Es wurde nichts geändert. Committen oder stashen Sie, was verloren ginge, und wechseln Sie dann.</translation>
    </message>
    <message>
        <source>Nothing was committed.</source>
        <translation>Es wurde nichts committet.</translation>
    </message>
    <message>
        <source>Nothing was done. Restore the folder, or send another message to continue in the folder that is there now.</source>
        <translation>Es wurde nichts getan. Stellen Sie den Ordner wieder her, oder senden Sie noch eine Nachricht, um in dem Ordner weiterzuarbeiten, der jetzt dort ist.</translation>
    </message>
    <message>
        <source>Nothing was done. Restore the folder, or start a new conversation in another one.</source>
        <translation>Es wurde nichts getan. Stellen Sie den Ordner wieder her, oder beginnen Sie eine neue Unterhaltung in einem anderen.</translation>
    </message>
    <message>
        <source>Nothing was done. Restore the folder, or start a new conversation in the folder that the link points to.</source>
        <translation>Es wurde nichts getan. Stellen Sie den Ordner wieder her, oder beginnen Sie eine neue Unterhaltung in dem Ordner, auf den der Verweis zeigt.</translation>
    </message>
    <message>
        <source>Nothing was done. Restore the folder. To continue in the one that is there now, send another message; on the command line, add --accept-folder.</source>
        <translation>Es wurde nichts getan. Stellen Sie den Ordner wieder her. Um in dem weiterzuarbeiten, der jetzt dort ist, senden Sie noch eine Nachricht; auf der Befehlszeile geben Sie --accept-folder an.</translation>
    </message>
    <message>
        <source>Nothing was renamed. Rename it in a file manager or the terminal; that cannot be undone here.</source>
        <translation>Es wurde nichts umbenannt. Benennen Sie es mit einem Dateimanager oder im Terminal um; das kann hier nicht rückgängig gemacht werden.</translation>
    </message>
    <message>
        <source>Nothing was rewound.</source>
        <translation>Es wurde nichts zurückgenommen.</translation>
    </message>
    <message>
        <source>Nothing was saved. Sign in again and allow it, or use an API key.</source>
        <translation>Es wurde nichts gespeichert. Melden Sie sich erneut an und erlauben Sie es, oder verwenden Sie einen API-Schlüssel.</translation>
    </message>
    <message>
        <source>Nothing was sent. Send the message again to use the new address.</source>
        <translation>Es wurde nichts gesendet. Senden Sie die Nachricht erneut, um die neue Adresse zu verwenden.</translation>
    </message>
    <message>
        <source>Nothing was sent: the proxy {0} could read and change everything.</source>
        <translation>Nichts wurde gesendet: Der Proxy {0} könnte alles lesen und ändern.</translation>
    </message>
    <message>
        <source>Nothing was sent: {0} is not encrypted, so others on the way could read and change everything.</source>
        <translation>Nichts wurde gesendet: {0} ist nicht verschlüsselt, andere auf dem Weg könnten alles lesen und ändern.</translation>
    </message>
    <message>
        <source>NumPy array</source>
        <translation>NumPy-Array</translation>
    </message>
    <message>
        <source>Office document</source>
        <translation>Office-Dokument</translation>
    </message>
    <message>
        <source>Ogg media</source>
        <translation>Ogg-Medien</translation>
    </message>
    <message>
        <source>OpenDocument file</source>
        <translation>OpenDocument-Datei</translation>
    </message>
    <message>
        <source>OpenType font</source>
        <translation>OpenType-Schrift</translation>
    </message>
    <message>
        <source>PDF document</source>
        <translation>PDF-Dokument</translation>
    </message>
    <message>
        <source>PNG image</source>
        <translation>PNG-Bild</translation>
    </message>
    <message>
        <source>Parquet data</source>
        <translation>Parquet-Daten</translation>
    </message>
    <message>
        <source>Paste it again.</source>
        <translation>Fügen Sie es noch einmal ein.</translation>
    </message>
    <message>
        <source>Perhaps it is not signed in. {0}</source>
        <translation>Vielleicht ist er nicht angemeldet. {0}</translation>
    </message>
    <message>
        <source>Photoshop image</source>
        <translation>Photoshop-Bild</translation>
    </message>
    <message>
        <source>Plan updated.</source>
        <translation>Plan aktualisiert.</translation>
    </message>
    <message>
        <source>Plan with a model, or in its own mode.</source>
        <translation>Planen Sie mit einem Modell, oder in seinem eigenen Modus.</translation>
    </message>
    <message>
        <source>Pushing to {0} failed.</source>
        <translation>Der Push zu {0} ist fehlgeschlagen.</translation>
    </message>
    <message>
        <source>Python bytecode</source>
        <translation>Python-Bytecode</translation>
    </message>
    <message>
        <source>RAR archive</source>
        <translation>RAR-Archiv</translation>
    </message>
    <message>
        <source>Raise startup_timeout_ms if it only needs longer to start.</source>
        <translation>Erhöhen Sie startup_timeout_ms, wenn er nur länger zum Starten braucht.</translation>
    </message>
    <message>
        <source>Redo the last undo exactly, or what you name; `steps` lists the undos</source>
        <translation>Das letzte Rückgängigmachen genau zurücknehmen, oder was Sie nennen; `steps` listet sie auf</translation>
    </message>
    <message>
        <source>Register it there by hand, and add the server again with --client-id. Or get a token from the service, and give it as a header: --header &apos;Authorization=Bearer …&apos;.</source>
        <translation>Registrieren Sie sie dort von Hand, und fügen Sie den Server erneut mit --client-id hinzu. Oder holen Sie sich beim Dienst ein Token, und geben Sie es als Header an: --header &apos;Authorization=Bearer …&apos;.</translation>
    </message>
    <message>
        <source>Remove it first: `desktop-agent plugins remove {0}`.</source>
        <translation>Entfernen Sie es zuerst: `desktop-agent plugins remove {0}`.</translation>
    </message>
    <message>
        <source>Remove it first: `desktop-agent {0} remove {1}`.</source>
        <translation>Entfernen Sie ihn zuerst: `desktop-agent {0} remove {1}`.</translation>
    </message>
    <message>
        <source>Remove it first: `{0}`.</source>
        <translation>Entfernen Sie ihn zuerst: `{0}`.</translation>
    </message>
    <message>
        <source>Remove the agent, and add it again with --secret {0}.</source>
        <translation>Entfernen Sie den Agenten, und fügen Sie ihn mit --secret {0} wieder hinzu.</translation>
    </message>
    <message>
        <source>Remove the server, and add it again with --client-secret.</source>
        <translation>Entfernen Sie den Server, und fügen Sie ihn mit --client-secret erneut hinzu.</translation>
    </message>
    <message>
        <source>Remove the server, and add it again with another one.</source>
        <translation>Entfernen Sie den Server, und fügen Sie ihn mit einem anderen erneut hinzu.</translation>
    </message>
    <message>
        <source>Restart it when the cause is fixed.</source>
        <translation>Starten Sie ihn neu, wenn die Ursache behoben ist.</translation>
    </message>
    <message>
        <source>Revert it with git.</source>
        <translation>Machen Sie ihn mit Git rückgängig.</translation>
    </message>
    <message>
        <source>Run `git init`, `git add -A` and `git commit -m first` there, then try again.</source>
        <translation>Führen Sie dort `git init`, `git add -A` und `git commit -m first` aus, und versuchen Sie es dann erneut.</translation>
    </message>
    <message>
        <source>Runs outside the sandbox, as in your terminal.</source>
        <translation>Läuft außerhalb der Sandbox, wie in Ihrem Terminal.</translation>
    </message>
    <message>
        <source>SQLite database</source>
        <translation>SQLite-Datenbank</translation>
    </message>
    <message>
        <source>SVG image</source>
        <translation>SVG-Bild</translation>
    </message>
    <message>
        <source>Save it as a file in the folder, and mention that.</source>
        <translation>Speichern Sie es als Datei im Ordner, und erwähnen Sie diese.</translation>
    </message>
    <message>
        <source>Scanning the folder took longer than {0} s; {1} folders and their contents are not watched.</source>
        <translation>Der Durchgang durch den Ordner dauerte länger als {0} s; {1} Ordner und ihr Inhalt werden nicht beobachtet.</translation>
    </message>
    <message>
        <source>Set what is missing in the account or in the environment. {0}</source>
        <translation>Ergänzen Sie im Konto oder in der Umgebung, was fehlt. {0}</translation>
    </message>
    <message>
        <source>Set {0} in the account or in the environment.</source>
        <translation>Setzen Sie {0} im Konto oder in der Umgebung.</translation>
    </message>
    <message>
        <source>Set {0} to a {1}, or unset it to use the certificates of the system.</source>
        <translation>Setzen Sie {0} auf den Wert „{1}“, oder löschen Sie die Variable, um die Zertifikate des Systems zu verwenden.</translation>
    </message>
    <message>
        <source>Set {0} to http://host:port or https://host:port, or unset it. SOCKS proxies are not supported.</source>
        <translation>Setzen Sie {0} auf http://host:port oder https://host:port, oder löschen Sie die Variable. SOCKS-Proxys werden nicht unterstützt.</translation>
    </message>
    <message>
        <source>Several files had this path one after another. Undo all of its changes, or choose between the versions.</source>
        <translation>Mehrere Dateien hatten nacheinander diesen Pfad. Machen Sie alle seine Änderungen rückgängig, oder wählen Sie zwischen den Fassungen.</translation>
    </message>
    <message>
        <source>Sign in again. If it happens again, do not use this server.</source>
        <translation>Melden Sie sich erneut an. Passiert es wieder, verwenden Sie diesen Server nicht.</translation>
    </message>
    <message>
        <source>Sign in again: `desktop-agent mcp sign-in {0}`.</source>
        <translation>Melden Sie sich erneut an: `desktop-agent mcp sign-in {0}`.</translation>
    </message>
    <message>
        <source>Sign in again: in Settings, or with `desktop-agent auth sign-in openai`.</source>
        <translation>Melden Sie sich erneut an: in den Einstellungen oder mit `desktop-agent auth sign-in openai`.</translation>
    </message>
    <message>
        <source>Sign in with ChatGPT here as well. It uses the same plan, and Codex stays signed in.</source>
        <translation>Melden Sie sich auch hier mit ChatGPT an. Das nutzt denselben Tarif, und Codex bleibt angemeldet.</translation>
    </message>
    <message>
        <source>Sign in with `ant auth login`, or use a key.</source>
        <translation>Melden Sie sich mit `ant auth login` an, oder verwenden Sie einen Schlüssel.</translation>
    </message>
    <message>
        <source>Sign in with `aws sso login`, or set up access with `aws configure`.</source>
        <translation>Melden Sie sich mit `aws sso login` an, oder richten Sie den Zugang mit `aws configure` ein.</translation>
    </message>
    <message>
        <source>Sign in with `az login`, or use a key of the resource.</source>
        <translation>Melden Sie sich mit `az login` an, oder verwenden Sie einen Schlüssel der Ressource.</translation>
    </message>
    <message>
        <source>Sign in with `gcloud auth application-default login`, or name a key file in GOOGLE_APPLICATION_CREDENTIALS.</source>
        <translation>Melden Sie sich mit `gcloud auth application-default login` an, oder nennen Sie in GOOGLE_APPLICATION_CREDENTIALS eine Schlüsseldatei.</translation>
    </message>
    <message>
        <source>Sign in with git in a terminal, or load your key into the SSH agent.</source>
        <translation>Melden Sie sich in einem Terminal mit git an, oder laden Sie Ihren Schlüssel in den SSH-Agenten.</translation>
    </message>
    <message>
        <source>Sign in, then try again. In a terminal, `{0}` does it.</source>
        <translation>Melden Sie sich an, und versuchen Sie es dann erneut. In einem Terminal geht es mit `{0}`.</translation>
    </message>
    <message>
        <source>Sign in: `desktop-agent auth sign-in {0} --account {1}`.</source>
        <translation>Melden Sie sich an: `desktop-agent auth sign-in {0} --account {1}`.</translation>
    </message>
    <message>
        <source>Sign in: `desktop-agent mcp sign-in {0}`.</source>
        <translation>Melden Sie sich an: `desktop-agent mcp sign-in {0}`.</translation>
    </message>
    <message>
        <source>Something else</source>
        <translation>Etwas anderes</translation>
    </message>
    <message>
        <source>Something else is at {0}.</source>
        <translation>Unter {0} ist etwas anderes.</translation>
    </message>
    <message>
        <source>Something else is there now.</source>
        <translation>Dort steht jetzt etwas anderes.</translation>
    </message>
    <message>
        <source>Something runs on {0} and does not answer.</source>
        <translation>Auf {0} läuft etwas und antwortet nicht.</translation>
    </message>
    <message>
        <source>Start it with `llama-server -m MODEL.gguf`.</source>
        <translation>Starten Sie es mit `llama-server -m MODEL.gguf`.</translation>
    </message>
    <message>
        <source>Start it with `ollama serve`.</source>
        <translation>Starten Sie es mit `ollama serve`.</translation>
    </message>
    <message>
        <source>Start it with one: `llama-server -m MODEL.gguf`.</source>
        <translation>Starten Sie es mit einem: `llama-server -m MODEL.gguf`.</translation>
    </message>
    <message>
        <source>Start its server with `lms server start`, or in its Developer tab.</source>
        <translation>Starten Sie seinen Server mit `lms server start` oder in seinem Reiter „Developer“.</translation>
    </message>
    <message>
        <source>Start some with “Try with…”.</source>
        <translation>Beginnen Sie welche mit „Versuchen mit…“.</translation>
    </message>
    <message>
        <source>Start the proxy, or correct or unset {0}. The model at {1} was not reached.</source>
        <translation>Starten Sie den Proxy, oder berichtigen oder entfernen Sie {0}. Das Modell unter {1} wurde nicht erreicht.</translation>
    </message>
    <message>
        <source>Start the server, or check the address.</source>
        <translation>Starten Sie den Server, oder prüfen Sie die Adresse.</translation>
    </message>
    <message>
        <source>Start {0} as a sub-agent?</source>
        <translation>{0} als Unteragenten starten?</translation>
    </message>
    <message>
        <source>Stop the turn, or wait for its end.</source>
        <translation>Halten Sie die Runde an oder warten Sie auf ihr Ende.</translation>
    </message>
    <message>
        <source>Summarise the older part of the conversation, keeping FOCUS above all</source>
        <translation>Den älteren Teil der Unterhaltung zusammenfassen und dabei vor allem FOCUS behalten</translation>
    </message>
    <message>
        <source>Switching to the branch {0} failed.</source>
        <translation>Der Wechsel zum Branch {0} ist fehlgeschlagen.</translation>
    </message>
    <message>
        <source>TIFF image</source>
        <translation>TIFF-Bild</translation>
    </message>
    <message>
        <source>Take from {0}.</source>
        <translation>Aus {0} übernehmen.</translation>
    </message>
    <message>
        <source>Take these lines from only one of them.</source>
        <translation>Übernehmen Sie diese Zeilen nur aus einer davon.</translation>
    </message>
    <message>
        <source>The MCP server {0} broke off: {1}</source>
        <translation>Der MCP-Server {0} ist abgebrochen: {1}</translation>
    </message>
    <message>
        <source>The MCP server {0} changed its tools and did not list them within {1} s.</source>
        <translation>Der MCP-Server {0} hat seine Werkzeuge geändert und sie nicht innerhalb von {1} s aufgelistet.</translation>
    </message>
    <message>
        <source>The MCP server {0} could not be started: {1}</source>
        <translation>Der MCP-Server {0} konnte nicht gestartet werden: {1}</translation>
    </message>
    <message>
        <source>The MCP server {0} failed a moment ago: {1}</source>
        <translation>Der MCP-Server {0} ist gerade fehlgeschlagen: {1}</translation>
    </message>
    <message>
        <source>The MCP server {0} failed {1} times in a row and is not tried any more.</source>
        <translation>Der MCP-Server {0} ist {1}-mal hintereinander fehlgeschlagen und wird nicht mehr versucht.</translation>
    </message>
    <message>
        <source>The agent did not make this change, or may not have made it. Commit it with git.</source>
        <translation>Diese Änderung ist nicht oder vielleicht nicht vom Agenten. Committen Sie sie mit Git.</translation>
    </message>
    <message>
        <source>The agent did not make this change, so it was left alone. It is undone only when requested explicitly.</source>
        <translation>Sie stammt nicht vom Agenten und wurde deshalb unberührt gelassen. Sie wird nur rückgängig gemacht, wenn genau das verlangt wird.</translation>
    </message>
    <message>
        <source>The agent is working in this session, so the worktree was not removed.</source>
        <translation>Der Agent arbeitet in dieser Sitzung, daher wurde der Worktree nicht entfernt.</translation>
    </message>
    <message>
        <source>The agent is working, so nothing was summarised or undone.</source>
        <translation>Der Agent arbeitet, daher wurde nichts zusammengefasst oder zurückgenommen.</translation>
    </message>
    <message>
        <source>The agent is working, so nothing was undone.</source>
        <translation>Der Agent arbeitet, daher wurde nichts rückgängig gemacht.</translation>
    </message>
    <message>
        <source>The agent is working, so the branch stays.</source>
        <translation>Der Agent arbeitet, deshalb bleibt der Branch.</translation>
    </message>
    <message>
        <source>The agent is working.</source>
        <translation>Der Agent arbeitet.</translation>
    </message>
    <message>
        <source>The agent will not ask about this again.</source>
        <translation>Der Agent fragt danach nicht noch einmal.</translation>
    </message>
    <message>
        <source>The agent {0} cannot be added: {1}.</source>
        <translation>Der Agent {0} kann nicht hinzugefügt werden: {1}.</translation>
    </message>
    <message>
        <source>The agent {0} needs the program {1}.</source>
        <translation>Der Agent {0} braucht das Programm {1}.</translation>
    </message>
    <message>
        <source>The agent&apos;s command line cannot be read: {0}.</source>
        <translation>Die Befehlszeile des Agenten kann nicht gelesen werden: {0}.</translation>
    </message>
    <message>
        <source>The agent&apos;s turn ended before it said how this call ended.</source>
        <translation>Die Runde des Agenten endete, bevor er sagte, wie dieser Aufruf ausging.</translation>
    </message>
    <message>
        <source>The answer ended unexpectedly ({0}), so the call was not run.</source>
        <translation>Die Antwort endete unerwartet ({0}), daher wurde der Aufruf nicht ausgeführt.</translation>
    </message>
    <message>
        <source>The answer was broken off: it is larger than any model&apos;s answer.</source>
        <translation>Die Antwort wurde abgebrochen: Sie ist größer als die Antwort jedes Modells.</translation>
    </message>
    <message>
        <source>The branch has no commit yet, so there is nothing to push.</source>
        <translation>Der Branch hat noch keinen Commit, deshalb gibt es nichts zu pushen.</translation>
    </message>
    <message>
        <source>The branch {0} was not made.</source>
        <translation>Der Branch {0} wurde nicht angelegt.</translation>
    </message>
    <message>
        <source>The browser&apos;s answer belongs to another sign-in, not to this one with {0}.</source>
        <translation>Die Antwort des Browsers gehört zu einer anderen Anmeldung, nicht zu dieser bei {0}.</translation>
    </message>
    <message>
        <source>The certificate of {0} cannot be trusted.</source>
        <translation>Dem Zertifikat von {0} kann nicht vertraut werden.</translation>
    </message>
    <message>
        <source>The cleanup was stopped.</source>
        <translation>Das Aufräumen wurde angehalten.</translation>
    </message>
    <message>
        <source>The command that sets up the worktree failed with code {0}.</source>
        <translation>Der Befehl, der den Worktree einrichtet, ist mit Code {0} fehlgeschlagen.</translation>
    </message>
    <message>
        <source>The commit was pushed already.</source>
        <translation>Der Commit wurde schon gepusht.</translation>
    </message>
    <message>
        <source>The commit was stopped.</source>
        <translation>Der Commit wurde angehalten.</translation>
    </message>
    <message>
        <source>The connection to {0} is not trusted. Check the clock, the proxy and the address.</source>
        <translation>Die Verbindung zu {0} ist nicht vertrauenswürdig. Prüfen Sie Uhr, Proxy und Adresse.</translation>
    </message>
    <message>
        <source>The connection with the server was lost.</source>
        <translation>Die Verbindung mit dem Server ging verloren.</translation>
    </message>
    <message>
        <source>The conversation could not be imported.</source>
        <translation>Die Unterhaltung konnte nicht importiert werden.</translation>
    </message>
    <message>
        <source>The copy changed after it was shown, so it was not added.</source>
        <translation>Die Kopie änderte sich, nachdem sie gezeigt wurde, daher wurde sie nicht hinzugefügt.</translation>
    </message>
    <message>
        <source>The cost of its requests is not counted. Limits on requests and time still apply.</source>
        <translation>Die Kosten seiner Anfragen werden nicht gezählt. Limits für Anfragen und Zeit gelten weiterhin.</translation>
    </message>
    <message>
        <source>The credential may lack a right, or the server may be closed to this network.</source>
        <translation>Vielleicht fehlt den Zugangsdaten ein Recht, oder der Server ist für dieses Netz gesperrt.</translation>
    </message>
    <message>
        <source>The credentials were refused.</source>
        <translation>Die Anmeldedaten wurden abgelehnt.</translation>
    </message>
    <message>
        <source>The draft could not be saved.</source>
        <translation>Der Entwurf konnte nicht gespeichert werden.</translation>
    </message>
    <message>
        <source>The export could not be written.</source>
        <translation>Der Export konnte nicht geschrieben werden.</translation>
    </message>
    <message>
        <source>The fetched repository could not be read.</source>
        <translation>Das abgerufene Repository konnte nicht gelesen werden.</translation>
    </message>
    <message>
        <source>The file could not be read.</source>
        <translation>Die Datei konnte nicht gelesen werden.</translation>
    </message>
    <message>
        <source>The files in this folder exceed the limit of {0} MiB for copies.</source>
        <translation>Die Dateien in diesem Ordner überschreiten das Limit von {0} MiB für Kopien.</translation>
    </message>
    <message>
        <source>The files of its plugin have changed, so it was not started.</source>
        <translation>Die Dateien seines Plugins haben sich geändert; deshalb wurde er nicht gestartet.</translation>
    </message>
    <message>
        <source>The files of the worktree are in {0}.</source>
        <translation>Die Dateien des Worktrees sind in {0}.</translation>
    </message>
    <message>
        <source>The folder has other contents, so it was kept.</source>
        <translation>Der Ordner hat weiteren Inhalt, daher wurde er behalten.</translation>
    </message>
    <message>
        <source>The folder is not in a git repository.</source>
        <translation>Der Ordner ist in keinem Git-Repository.</translation>
    </message>
    <message>
        <source>The folder of the worktree {0} belongs to another repository.</source>
        <translation>Der Ordner des Worktrees {0} gehört zu einem anderen Repository.</translation>
    </message>
    <message>
        <source>The folder of the worktree {0} is gone.</source>
        <translation>Der Ordner des Worktrees {0} ist weg.</translation>
    </message>
    <message>
        <source>The folder was gone before this write could be verified.</source>
        <translation>Der Ordner war weg, bevor sich prüfen ließ, ob dies geschrieben wurde.</translation>
    </message>
    <message>
        <source>The folder {0} cannot be a workspace: it {1}.</source>
        <translation>Im Ordner {0} kann nicht gearbeitet werden ({1}).</translation>
    </message>
    <message>
        <source>The folder {0} could not be moved.</source>
        <translation>Der Ordner {0} konnte nicht verschoben werden.</translation>
    </message>
    <message>
        <source>The folder {0} is not the one that this conversation worked in, which was moved, removed or replaced.</source>
        <translation>Der Ordner {0} ist nicht der, in dem diese Unterhaltung gearbeitet hat: Jener wurde verschoben, gelöscht oder ersetzt.</translation>
    </message>
    <message>
        <source>The folder&apos;s state before the command is no longer known, so the command&apos;s changes are not known either.</source>
        <translation>Der Zustand des Ordners vor dem Befehl ist nicht mehr bekannt, die Änderungen des Befehls daher auch nicht.</translation>
    </message>
    <message>
        <source>The hook {0} refused the commit.</source>
        <translation>Der Hook {0} hat den Commit abgelehnt.</translation>
    </message>
    <message>
        <source>The identity that {0} sent does not belong to this sign-in. Nothing was saved.</source>
        <translation>Die Identität, die {0} gesendet hat, gehört nicht zu dieser Anmeldung. Es wurde nichts gespeichert.</translation>
    </message>
    <message>
        <source>The import could not be noted.</source>
        <translation>Der Import konnte nicht vermerkt werden.</translation>
    </message>
    <message>
        <source>The index of git cannot be written.</source>
        <translation>Der Index von Git kann nicht geschrieben werden.</translation>
    </message>
    <message>
        <source>The key is not valid: it is empty or contains characters that keys do not have.</source>
        <translation>Der Schlüssel ist ungültig: Er ist leer oder enthält Zeichen, die Schlüssel nicht haben.</translation>
    </message>
    <message>
        <source>The keyring has no secret for its client_id.</source>
        <translation>Der Schlüsselbund hat kein Geheimnis für die client_id.</translation>
    </message>
    <message>
        <source>The keyring has no value for {0} of the agent {1}.</source>
        <translation>Der Schlüsselbund hat keinen Wert für {0} des Agenten {1}.</translation>
    </message>
    <message>
        <source>The list of models could not be kept.</source>
        <translation>Die Liste der Modelle konnte nicht gespeichert werden.</translation>
    </message>
    <message>
        <source>The message could not be written.</source>
        <translation>Die Nachricht konnte nicht geschrieben werden.</translation>
    </message>
    <message>
        <source>The message of the commit is empty.</source>
        <translation>Die Nachricht des Commits ist leer.</translation>
    </message>
    <message>
        <source>The messages must begin and end with one of the user.</source>
        <translation>Die Nachrichten müssen mit einer des Benutzers beginnen und enden.</translation>
    </message>
    <message>
        <source>The model declined to answer the sub-agent.</source>
        <translation>Das Modell hat es abgelehnt, dem Unteragenten zu antworten.</translation>
    </message>
    <message>
        <source>The model declined to answer.</source>
        <translation>Das Modell hat die Antwort verweigert.</translation>
    </message>
    <message>
        <source>The model is {0}. `/model PROVIDER/NAME` chooses another, `/model PROVIDER/NAME ACCOUNT` another account as well; providers: {1}. `/model {2}/NAME` chooses an agent of another program.</source>
        <translation>Das Modell ist {0}. `/model PROVIDER/NAME` wählt ein anderes, `/model PROVIDER/NAME ACCOUNT` auch ein anderes Konto; Anbieter: {1}. `/model {2}/NAME` wählt einen Agenten eines anderen Programms.</translation>
    </message>
    <message>
        <source>The model was asked {0} times in this call, and no more.</source>
        <translation>Das Modell wurde in diesem Aufruf {0}-mal gefragt; mehr ist nicht möglich.</translation>
    </message>
    <message>
        <source>The model wrote no message.</source>
        <translation>Das Modell hat keine Nachricht geschrieben.</translation>
    </message>
    <message>
        <source>The name in {0} is unknown.</source>
        <translation>Der Name in {0} ist unbekannt.</translation>
    </message>
    <message>
        <source>The name of this installation could not be kept, which the sign-in needs.</source>
        <translation>Der Name dieser Installation, den die Anmeldung braucht, konnte nicht gespeichert werden.</translation>
    </message>
    <message>
        <source>The output is kept only while the session is open.</source>
        <translation>Die Ausgabe wird nur behalten, solange die Sitzung geöffnet ist.</translation>
    </message>
    <message>
        <source>The plan stays as it is, because a turn is running.</source>
        <translation>Der Plan bleibt, wie er ist, weil eine Runde läuft.</translation>
    </message>
    <message>
        <source>The plugin could not be added.</source>
        <translation>Das Plugin konnte nicht hinzugefügt werden.</translation>
    </message>
    <message>
        <source>The plugin could not be copied.</source>
        <translation>Das Plugin konnte nicht kopiert werden.</translation>
    </message>
    <message>
        <source>The plugin could not be removed.</source>
        <translation>Das Plugin konnte nicht entfernt werden.</translation>
    </message>
    <message>
        <source>The private key for its client_id cannot be used.</source>
        <translation>Der private Schlüssel für die client_id kann nicht verwendet werden.</translation>
    </message>
    <message>
        <source>The profile is for {0} now. Sign out of the account and in again.</source>
        <translation>Das Profil gilt jetzt für {0}. Melden Sie sich beim Konto ab und wieder an.</translation>
    </message>
    <message>
        <source>The project&apos;s settings have a mistake, so they cannot be trusted as they are.</source>
        <translation>Die Einstellungen des Projekts enthalten einen Fehler, daher kann ihnen so nicht vertraut werden.</translation>
    </message>
    <message>
        <source>The provider did not finish this.</source>
        <translation>Der Anbieter hat das nicht beendet.</translation>
    </message>
    <message>
        <source>The provider ended the reply for an unknown reason.</source>
        <translation>Der Anbieter hat die Antwort aus einem unbekannten Grund beendet.</translation>
    </message>
    <message>
        <source>The proxy in {0} cannot be used.</source>
        <translation>Der Proxy in {0} kann nicht verwendet werden.</translation>
    </message>
    <message>
        <source>The proxy refused the connection.</source>
        <translation>Der Proxy hat die Verbindung abgelehnt.</translation>
    </message>
    <message>
        <source>The proxy requires a user name and a password: http://user:password@host:port in {0}.</source>
        <translation>Der Proxy verlangt Benutzername und Passwort: http://benutzer:passwort@host:port in {0}.</translation>
    </message>
    <message>
        <source>The record of the variants cannot be written.</source>
        <translation>Die Aufzeichnung der Varianten lässt sich nicht schreiben.</translation>
    </message>
    <message>
        <source>The record of the worktree cannot be written.</source>
        <translation>Der Eintrag des Worktrees kann nicht geschrieben werden.</translation>
    </message>
    <message>
        <source>The redo of turn {0} changed it since, so it was left alone.</source>
        <translation>Das Wiederherstellen von Runde {0} hat sie seither geändert; diese Fassung wurde unberührt gelassen.</translation>
    </message>
    <message>
        <source>The repository could not be fetched.</source>
        <translation>Das Repository konnte nicht abgerufen werden.</translation>
    </message>
    <message>
        <source>The repository has no commit yet.</source>
        <translation>Das Repository hat noch keinen Commit.</translation>
    </message>
    <message>
        <source>The repository has no folder {0}.</source>
        <translation>Das Repository hat keinen Ordner {0}.</translation>
    </message>
    <message>
        <source>The repository has too many files, or they are too large.</source>
        <translation>Das Repository hat zu viele oder zu große Dateien.</translation>
    </message>
    <message>
        <source>The repository is empty.</source>
        <translation>Das Repository ist leer.</translation>
    </message>
    <message>
        <source>The repository is too large to be fetched.</source>
        <translation>Das Repository ist zu groß, um abgerufen zu werden.</translation>
    </message>
    <message>
        <source>The repository of the worktree {0} is not at {1} any more.</source>
        <translation>Das Repository des Worktrees {0} ist nicht mehr unter {1}.</translation>
    </message>
    <message>
        <source>The rule could not be revoked, so it still applies.</source>
        <translation>Die Regel konnte nicht widerrufen werden, sie gilt also noch.</translation>
    </message>
    <message>
        <source>The rule could not be saved, so you will be asked again.</source>
        <translation>Die Regel konnte nicht gespeichert werden, Sie werden also wieder gefragt.</translation>
    </message>
    <message>
        <source>The server asked again and again instead of answering.</source>
        <translation>Der Server hat immer wieder gefragt, statt zu antworten.</translation>
    </message>
    <message>
        <source>The server did not answer in time.</source>
        <translation>Der Server hat nicht rechtzeitig geantwortet.</translation>
    </message>
    <message>
        <source>The server did not answer within {0} s.</source>
        <translation>Der Server hat nicht innerhalb von {0} s geantwortet.</translation>
    </message>
    <message>
        <source>The server has forgotten this connection, so the call was not carried out.</source>
        <translation>Der Server hat diese Verbindung vergessen, daher wurde der Aufruf nicht ausgeführt.</translation>
    </message>
    <message>
        <source>The server reported a failure.</source>
        <translation>Der Server hat einen Fehler gemeldet.</translation>
    </message>
    <message>
        <source>The server requires a key: enter it in Settings.</source>
        <translation>Der Server verlangt einen Schlüssel: Geben Sie ihn in den Einstellungen ein.</translation>
    </message>
    <message>
        <source>The server was silent for {0} s, so the call was cancelled.</source>
        <translation>Der Server schwieg {0} s lang, daher wurde der Aufruf abgebrochen.</translation>
    </message>
    <message>
        <source>The session of the worktree {0} is open.</source>
        <translation>Die Sitzung des Worktrees {0} ist offen.</translation>
    </message>
    <message>
        <source>The sessions could not be listed.</source>
        <translation>Die Sitzungen konnten nicht aufgelistet werden.</translation>
    </message>
    <message>
        <source>The settings file could not be made.</source>
        <translation>Die Einstellungsdatei konnte nicht angelegt werden.</translation>
    </message>
    <message>
        <source>The sign-in of {0} belongs to {1}, not to {2}.</source>
        <translation>Die Anmeldung von {0} gehört zu {1}, nicht zu {2}.</translation>
    </message>
    <message>
        <source>The sign-in service could not be reached.</source>
        <translation>Der Anmeldedienst konnte nicht erreicht werden.</translation>
    </message>
    <message>
        <source>The spending limit is reached.</source>
        <translation>Das Ausgabenlimit ist erreicht.</translation>
    </message>
    <message>
        <source>The stored contents could not be listed.</source>
        <translation>Die gespeicherten Inhalte konnten nicht aufgelistet werden.</translation>
    </message>
    <message>
        <source>The sub-agent ended without a report.</source>
        <translation>Der Unteragent endete ohne Bericht.</translation>
    </message>
    <message>
        <source>The sub-agent needed an approval, and nobody could give it.</source>
        <translation>Der Unteragent brauchte eine Genehmigung, und niemand konnte sie geben.</translation>
    </message>
    <message>
        <source>The sub-agent was stopped at a limit before it was done.</source>
        <translation>Der Unteragent wurde an einer Grenze angehalten, bevor er fertig war.</translation>
    </message>
    <message>
        <source>The sub-agent was stopped at its limit of requests before it was done.</source>
        <translation>Der Unteragent wurde an der Grenze seiner Anfragen angehalten, bevor er fertig war.</translation>
    </message>
    <message>
        <source>The sub-agent was stopped before an answer came.</source>
        <translation>Der Unteragent wurde angehalten, bevor eine Antwort kam.</translation>
    </message>
    <message>
        <source>The sub-agent works in the background. Its report comes to you as a message. Go on with what does not depend on it; if there is nothing else to do, end your answer: you are asked again when a report has come.</source>
        <translation>Der Unteragent arbeitet im Hintergrund. Sein Bericht kommt als Nachricht. Machen Sie mit dem weiter, was nicht von ihm abhängt; wenn nichts anderes zu tun ist, beenden Sie Ihre Antwort: Sie werden wieder gefragt, wenn ein Bericht da ist.</translation>
    </message>
    <message>
        <source>The turn ended before the sub-agent was done.</source>
        <translation>Die Runde endete, bevor der Unteragent fertig war.</translation>
    </message>
    <message>
        <source>The undo of turn {0} changed it since, so it was left alone.</source>
        <translation>Das Rückgängigmachen von Runde {0} hat sie seither geändert; diese Fassung wurde unberührt gelassen.</translation>
    </message>
    <message>
        <source>The use of a skill could not be noted.</source>
        <translation>Die Verwendung eines Skills konnte nicht vermerkt werden.</translation>
    </message>
    <message>
        <source>The user answered.</source>
        <translation>Der Nutzer hat geantwortet.</translation>
    </message>
    <message>
        <source>The user cannot be asked this: {0}.</source>
        <translation>Danach kann der Nutzer nicht gefragt werden: {0}.</translation>
    </message>
    <message>
        <source>The user chose none of the options.</source>
        <translation>Der Benutzer hat keine der Möglichkeiten gewählt.</translation>
    </message>
    <message>
        <source>The user did not allow it.</source>
        <translation>Der Benutzer hat es nicht erlaubt.</translation>
    </message>
    <message>
        <source>The user did not answer.</source>
        <translation>Der Nutzer hat nicht geantwortet.</translation>
    </message>
    <message>
        <source>The user stopped the sub-agent before it was done.</source>
        <translation>Der Unteragent wurde angehalten, bevor er fertig war.</translation>
    </message>
    <message>
        <source>The user&apos;s settings let no server ask the model.</source>
        <translation>Die Einstellungen des Benutzers lassen keinen Server das Modell fragen.</translation>
    </message>
    <message>
        <source>The variant has changed since, so nothing was taken.</source>
        <translation>Die Variante hat sich inzwischen geändert, daher wurde nichts übernommen.</translation>
    </message>
    <message>
        <source>The worktree could not be made, and nothing is left of it.</source>
        <translation>Der Worktree konnte nicht angelegt werden, und es ist nichts von ihm übrig.</translation>
    </message>
    <message>
        <source>The worktree was not set up, because there is no shell.</source>
        <translation>Der Worktree wurde nicht eingerichtet, weil es keine Shell gibt.</translation>
    </message>
    <message>
        <source>The worktree {0} is in its place.</source>
        <translation>Der Worktree {0} ist an seinem Platz.</translation>
    </message>
    <message>
        <source>The worktree {0} is in the trash already.</source>
        <translation>Der Worktree {0} ist schon im Papierkorb.</translation>
    </message>
    <message>
        <source>The worktree {0} was moved to {1}.</source>
        <translation>Der Worktree {0} wurde nach {1} verschoben.</translation>
    </message>
    <message>
        <source>The worktrees cannot be written.</source>
        <translation>Die Worktrees können nicht geschrieben werden.</translation>
    </message>
    <message>
        <source>The {0} are being changed by another process.</source>
        <translation>Gerade von einem anderen Prozess geändert: {0}.</translation>
    </message>
    <message>
        <source>The {0} cannot be read.</source>
        <translation>Nicht lesbar: {0}.</translation>
    </message>
    <message>
        <source>The {0} could not be saved.</source>
        <translation>Nicht gespeichert: {0}.</translation>
    </message>
    <message>
        <source>The {0} is UTF-8, which cannot hold {1}, so nothing was saved.</source>
        <translation>Nichts wurde gespeichert, denn {1} kann nicht als UTF-8 geschrieben werden: {0}.</translation>
    </message>
    <message>
        <source>The {0} is not valid TOML, so nothing was saved.</source>
        <translation>Nichts wurde gespeichert, denn das ist kein gültiges TOML: {0}.</translation>
    </message>
    <message>
        <source>There are no agents in {0}.</source>
        <translation>In {0} gibt es keine Agenten.</translation>
    </message>
    <message>
        <source>There are no usable credentials for {0}.</source>
        <translation>Für {0} gibt es keine brauchbaren Zugangsdaten.</translation>
    </message>
    <message>
        <source>There are no variants in this folder.</source>
        <translation>In diesem Ordner gibt es keine Varianten.</translation>
    </message>
    <message>
        <source>There are: {0}.</source>
        <translation>Es gibt: {0}.</translation>
    </message>
    <message>
        <source>There can be 2 to {0} variants, not {1}.</source>
        <translation>Es können 2 bis {0} Varianten sein, nicht {1}.</translation>
    </message>
    <message>
        <source>There is a plugin named {0} already.</source>
        <translation>Es gibt schon ein Plugin namens {0}.</translation>
    </message>
    <message>
        <source>There is a worktree or branch of the name {0} already.</source>
        <translation>Es gibt schon einen Worktree oder Branch mit dem Namen {0}.</translation>
    </message>
    <message>
        <source>There is another account of {0} called {1}.</source>
        <translation>Es gibt ein anderes Konto von {0} namens {1}.</translation>
    </message>
    <message>
        <source>There is no active summary.</source>
        <translation>Es gilt keine Zusammenfassung.</translation>
    </message>
    <message>
        <source>There is no agent named {0}, and no program of that name.</source>
        <translation>Es gibt keinen Agenten namens {0} und kein Programm dieses Namens.</translation>
    </message>
    <message>
        <source>There is no commit {0}.</source>
        <translation>Es gibt keinen Commit {0}.</translation>
    </message>
    <message>
        <source>There is no file {0}.</source>
        <translation>Es gibt keine Datei {0}.</translation>
    </message>
    <message>
        <source>There is no model named “{0}” here.</source>
        <translation>Hier gibt es kein Modell namens „{0}“.</translation>
    </message>
    <message>
        <source>There is no plan.</source>
        <translation>Es gibt keinen Plan.</translation>
    </message>
    <message>
        <source>There is no program {0} to start the agent.</source>
        <translation>Es gibt kein Programm {0}, um den Agenten zu starten.</translation>
    </message>
    <message>
        <source>There is no program {0}.</source>
        <translation>Es gibt kein Programm {0}.</translation>
    </message>
    <message>
        <source>There is no record that you allowed this tool. It may be new.</source>
        <translation>Dass Sie dieses Werkzeug erlaubt haben, ist nicht verzeichnet. Es kann neu sein.</translation>
    </message>
    <message>
        <source>There is no shell to run it with.</source>
        <translation>Es gibt keine Shell, die ihn ausführen könnte.</translation>
    </message>
    <message>
        <source>There is no such method.</source>
        <translation>Eine solche Methode gibt es nicht.</translation>
    </message>
    <message>
        <source>There is no such terminal, or it was released.</source>
        <translation>Ein solches Terminal gibt es nicht, oder es wurde freigegeben.</translation>
    </message>
    <message>
        <source>There is no such undo.</source>
        <translation>Ein solches Rückgängigmachen gibt es nicht.</translation>
    </message>
    <message>
        <source>There is no undo that can be redone.</source>
        <translation>Es gibt kein Rückgängigmachen, das sich wiederherstellen ließe.</translation>
    </message>
    <message>
        <source>There is no worktree {0}.</source>
        <translation>Es gibt keinen Worktree {0}.</translation>
    </message>
    <message>
        <source>There is no {0} named {1} in your settings.</source>
        <translation>In Ihren Einstellungen gibt es keinen {0} namens {1}.</translation>
    </message>
    <message>
        <source>There is nothing to commit.</source>
        <translation>Es gibt nichts zu committen.</translation>
    </message>
    <message>
        <source>There is {0} named {1} already.</source>
        <translation>Es gibt schon {0} namens {1}.</translation>
    </message>
    <message>
        <source>These changes clash with what is in the folder, so nothing was taken.</source>
        <translation>Diese Änderungen widersprechen dem Stand im Ordner, daher wurde nichts übernommen.</translation>
    </message>
    <message>
        <source>These credentials may not use {0}.</source>
        <translation>Diese Anmeldedaten dürfen {0} nicht verwenden.</translation>
    </message>
    <message>
        <source>They include lines of yours or of another change.</source>
        <translation>Darunter sind Zeilen von Ihnen oder aus einer anderen Änderung.</translation>
    </message>
    <message>
        <source>This build cannot have them. Install the package from PyPI instead: {0}.</source>
        <translation>In diese Ausgabe lassen sie sich nicht einbauen. Installieren Sie stattdessen das Paket von PyPI: {0}.</translation>
    </message>
    <message>
        <source>This command mentions `{0}`, which you blocked. Another program may start it.</source>
        <translation>Dieser Befehl erwähnt `{0}`, das Sie gesperrt haben. Ein anderes Programm könnte es starten.</translation>
    </message>
    <message>
        <source>This file has no such change.</source>
        <translation>Diese Datei enthält keine solche Änderung.</translation>
    </message>
    <message>
        <source>This folder is not in a git repository.</source>
        <translation>Dieser Ordner liegt in keinem git-Repository.</translation>
    </message>
    <message>
        <source>This folder&apos;s git repository was replaced by another one. Open the folder again to use it.</source>
        <translation>Das git-Repository dieses Ordners wurde durch ein anderes ersetzt. Öffnen Sie den Ordner erneut, um es zu verwenden.</translation>
    </message>
    <message>
        <source>This is not a file that can be read.</source>
        <translation>Das ist keine Datei, die gelesen werden kann.</translation>
    </message>
    <message>
        <source>This is or was a device. An undo does not create or remove devices.</source>
        <translation>Hier ist oder war ein Gerät. Ein Rückgängigmachen erstellt und entfernt keine Geräte.</translation>
    </message>
    <message>
        <source>This session was never saved: the application ended, or the disk was full, while it was being created.</source>
        <translation>Diese Sitzung wurde nie gespeichert: Die Anwendung endete, oder der Datenträger war voll, während sie angelegt wurde.</translation>
    </message>
    <message>
        <source>This session works in the worktree {0}, on the branch {1}.</source>
        <translation>Diese Sitzung arbeitet im Worktree {0}, auf dem Branch {1}.</translation>
    </message>
    <message>
        <source>This system has neither bash nor sh, so commands cannot be checked. Install bash to have them checked again.</source>
        <translation>Auf diesem System gibt es weder bash noch sh, daher können Befehle nicht geprüft werden. Installieren Sie bash, dann werden sie wieder geprüft.</translation>
    </message>
    <message>
        <source>To begin a prompt with a slash, write two slashes, or a space before the slash.</source>
        <translation>Um einen Prompt mit einem Schrägstrich zu beginnen, schreiben Sie zwei, oder ein Leerzeichen davor.</translation>
    </message>
    <message>
        <source>TrueType font</source>
        <translation>TrueType-Schrift</translation>
    </message>
    <message>
        <source>Try again, or write it yourself.</source>
        <translation>Versuchen Sie es noch einmal, oder schreiben Sie sie selbst.</translation>
    </message>
    <message>
        <source>Try again.</source>
        <translation>Versuchen Sie es erneut.</translation>
    </message>
    <message>
        <source>Undo it with git.</source>
        <translation>Machen Sie ihn mit Git rückgängig.</translation>
    </message>
    <message>
        <source>Undo the agent&apos;s changes: those of the last turn, or what you name</source>
        <translation>Die Änderungen des Agenten zurücknehmen: die der letzten Runde, oder was Sie nennen</translation>
    </message>
    <message>
        <source>Unstage it first. Nothing was changed.</source>
        <translation>Nehmen Sie die Vormerkung zuerst zurück. Es wurde nichts geändert.</translation>
    </message>
    <message>
        <source>Update Desktop Agent to go on with it.</source>
        <translation>Aktualisieren Sie Desktop Agent, um sie fortzusetzen.</translation>
    </message>
    <message>
        <source>Update the agent, or this application.</source>
        <translation>Aktualisieren Sie den Agenten oder diese Anwendung.</translation>
    </message>
    <message>
        <source>Use `conversation`, `files` or `both`.</source>
        <translation>Möglich sind `conversation`, `files` oder `both`.</translation>
    </message>
    <message>
        <source>Use an API key, or a profile of Anthropic&apos;s own tools (`ant auth login`).</source>
        <translation>Verwenden Sie einen API-Schlüssel oder ein Profil der eigenen Werkzeuge von Anthropic (`ant auth login`).</translation>
    </message>
    <message>
        <source>Use its https:// address, or set allow_unencrypted = true for this server in the settings file.</source>
        <translation>Verwenden Sie seine https://-Adresse, oder setzen Sie allow_unencrypted = true für diesen Server in der Einstellungsdatei.</translation>
    </message>
    <message>
        <source>Use letters, digits, `-` and `_`, at most 60.</source>
        <translation>Verwenden Sie Buchstaben, Ziffern, `-` und `_`, höchstens 60.</translation>
    </message>
    <message>
        <source>Variants need a git repository with a commit, and the folder is in none.</source>
        <translation>Varianten brauchen ein Git-Repository mit einem Commit, und der Ordner liegt in keinem.</translation>
    </message>
    <message>
        <source>WAV audio</source>
        <translation>WAV-Audio</translation>
    </message>
    <message>
        <source>WOFF font</source>
        <translation>WOFF-Schrift</translation>
    </message>
    <message>
        <source>WOFF2 font</source>
        <translation>WOFF2-Schrift</translation>
    </message>
    <message>
        <source>Wait a moment, and try again.</source>
        <translation>Warten Sie einen Moment, und versuchen Sie es erneut.</translation>
    </message>
    <message>
        <source>Wait for it, then try again.</source>
        <translation>Warten Sie darauf, und versuchen Sie es dann noch einmal.</translation>
    </message>
    <message>
        <source>Wait until the turn has ended, or stop it.</source>
        <translation>Warten Sie, bis die Runde zu Ende ist, oder halten Sie sie an.</translation>
    </message>
    <message>
        <source>Waits until another sub-agent ends.</source>
        <translation>Wartet, bis ein anderer Unteragent endet.</translation>
    </message>
    <message>
        <source>WebAssembly module</source>
        <translation>WebAssembly-Modul</translation>
    </message>
    <message>
        <source>WebP image</source>
        <translation>WebP-Bild</translation>
    </message>
    <message>
        <source>What came back from the browser does not belong to this sign-in. Nothing is kept.</source>
        <translation>Was aus dem Browser zurückkam, gehört nicht zu dieser Anmeldung. Nichts wird gespeichert.</translation>
    </message>
    <message>
        <source>What is staged changed meanwhile.</source>
        <translation>Das Vorgemerkte hat sich inzwischen geändert.</translation>
    </message>
    <message>
        <source>What it prints on its standard output is not the protocol.</source>
        <translation>Was er auf der Standardausgabe ausgibt, ist nicht das Protokoll.</translation>
    </message>
    <message>
        <source>What runs on {0} wants a key.</source>
        <translation>Was auf {0} läuft, verlangt einen Schlüssel.</translation>
    </message>
    <message>
        <source>What was allowed of the server could not be forgotten.</source>
        <translation>Was dem Server erlaubt war, konnte nicht vergessen werden.</translation>
    </message>
    <message>
        <source>What was allowed of the server could not be kept.</source>
        <translation>Was dem Server erlaubt ist, konnte nicht gespeichert werden.</translation>
    </message>
    <message>
        <source>What was allowed of the server is being changed by another process.</source>
        <translation>Was dem Server erlaubt ist, wird gerade von einem anderen Prozess geändert.</translation>
    </message>
    <message>
        <source>What was allowed of the server is too large to be kept.</source>
        <translation>Was dem Server erlaubt ist, ist zu groß, um gespeichert zu werden.</translation>
    </message>
    <message>
        <source>What was pasted could not be kept.</source>
        <translation>Das Eingefügte konnte nicht aufbewahrt werden.</translation>
    </message>
    <message>
        <source>What was pasted has {0} MiB, and no more than {1} MiB can come with a message.</source>
        <translation>Das Eingefügte hat {0} MiB, und mit einer Nachricht können höchstens {1} MiB mitkommen.</translation>
    </message>
    <message>
        <source>What {0} sees cannot be shown here.</source>
        <translation>Was {0} sieht, kann hier nicht gezeigt werden.</translation>
    </message>
    <message>
        <source>Which agent?</source>
        <translation>Welcher Agent?</translation>
    </message>
    <message>
        <source>Which model of {0}?</source>
        <translation>Welches Modell von {0}?</translation>
    </message>
    <message>
        <source>Which setting, and which value?</source>
        <translation>Welche Einstellung, und welcher Wert?</translation>
    </message>
    <message>
        <source>Windows icon</source>
        <translation>Windows-Symbol</translation>
    </message>
    <message>
        <source>Windows program</source>
        <translation>Windows-Programm</translation>
    </message>
    <message>
        <source>Without a display, use `desktop-agent run --prompt …`.</source>
        <translation>Ohne Anzeige verwenden Sie `desktop-agent run --prompt …`.</translation>
    </message>
    <message>
        <source>Write each section of {0} once, in lines below its [name], and try again.</source>
        <translation>Schreiben Sie jeden Abschnitt von {0} nur einmal, in Zeilen unter seinem [Namen], und versuchen Sie es erneut.</translation>
    </message>
    <message>
        <source>Write it as `/{0} {1}`.</source>
        <translation>Man schreibt `/{0} {1}`.</translation>
    </message>
    <message>
        <source>Write it as `{0}`.</source>
        <translation>Man schreibt `{0}`.</translation>
    </message>
    <message>
        <source>Write it in full: https://host/mcp.</source>
        <translation>Schreiben Sie sie vollständig: https://host/mcp.</translation>
    </message>
    <message>
        <source>Write it yourself, or choose another model.</source>
        <translation>Schreiben Sie sie selbst, oder wählen Sie ein anderes Modell.</translation>
    </message>
    <message>
        <source>Write the message yourself, or raise the limit.</source>
        <translation>Schreiben Sie die Nachricht selbst, oder erhöhen Sie das Limit.</translation>
    </message>
    <message>
        <source>XZ data</source>
        <translation>XZ-Daten</translation>
    </message>
    <message>
        <source>You are not signed in for {0}.</source>
        <translation>Sie sind für {0} nicht angemeldet.</translation>
    </message>
    <message>
        <source>You changed these lines since. Commit them with git.</source>
        <translation>Sie haben diese Zeilen seitdem geändert. Committen Sie sie mit Git.</translation>
    </message>
    <message>
        <source>You signed in with a different {0} account.</source>
        <translation>Sie haben sich mit einem anderen Konto bei {0} angemeldet.</translation>
    </message>
    <message>
        <source>You staged another version of the same lines.</source>
        <translation>Sie haben eine andere Version derselben Zeilen vorgemerkt.</translation>
    </message>
    <message>
        <source>Your answer</source>
        <translation>Ihre Antwort</translation>
    </message>
    <message>
        <source>Your answer about the project could not be kept.</source>
        <translation>Ihre Antwort zum Projekt konnte nicht gespeichert werden.</translation>
    </message>
    <message>
        <source>Your answer could not be kept.</source>
        <translation>Ihre Antwort konnte nicht gespeichert werden.</translation>
    </message>
    <message>
        <source>Your rule `{0}` is for this tool as it was. It applies again once you allow the tool as it is now.</source>
        <translation>Ihre Regel `{0}` gilt für dieses Werkzeug, wie es war. Sie gilt wieder, sobald Sie es erlauben, wie es jetzt ist.</translation>
    </message>
    <message>
        <source>Your rule `{0}` was made in another repository, so it does not apply here.</source>
        <translation>Ihre Regel `{0}` ist in einem anderen Repository entstanden und gilt deshalb hier nicht.</translation>
    </message>
    <message>
        <source>ZIP archive</source>
        <translation>ZIP-Archiv</translation>
    </message>
    <message>
        <source>Zed lists them as &quot;agent_servers&quot;.</source>
        <translation>Zed führt sie unter „agent_servers“ auf.</translation>
    </message>
    <message>
        <source>Zstandard data</source>
        <translation>Zstandard-Daten</translation>
    </message>
    <message>
        <source>`--ttl=3600` keeps it for an hour.</source>
        <translation>`--ttl=3600` behält es eine Stunde lang.</translation>
    </message>
    <message>
        <source>`/config` lists them all.</source>
        <translation>`/config` zählt alle auf.</translation>
    </message>
    <message>
        <source>`/diff` shows what it did.</source>
        <translation>`/diff` zeigt, was er getan hat.</translation>
    </message>
    <message>
        <source>`/help` lists them.</source>
        <translation>`/help` zählt sie auf.</translation>
    </message>
    <message>
        <source>`/pin list` lists them with their ids.</source>
        <translation>`/pin list` zählt sie mit ihren Kennungen auf.</translation>
    </message>
    <message>
        <source>`/redo steps` lists them with their numbers.</source>
        <translation>`/redo steps` zählt sie mit ihren Nummern auf.</translation>
    </message>
    <message>
        <source>`/rewind` lists the turns.</source>
        <translation>`/rewind` zählt die Runden auf.</translation>
    </message>
    <message>
        <source>`desktop-agent agents list` lists those that can be used.</source>
        <translation>`desktop-agent agents list` zeigt, welche es gibt.</translation>
    </message>
    <message>
        <source>`desktop-agent doctor` says what helps.</source>
        <translation>`desktop-agent doctor` sagt, was hilft.</translation>
    </message>
    <message>
        <source>`desktop-agent worktrees list` lists them.</source>
        <translation>`desktop-agent worktrees list` listet sie auf.</translation>
    </message>
    <message>
        <source>`desktop-agent worktrees restore {0}` puts back what git knows of it.</source>
        <translation>`desktop-agent worktrees restore {0}` stellt wieder her, was Git davon kennt.</translation>
    </message>
    <message>
        <source>`jobs` can run other programs</source>
        <translation>`jobs` kann andere Programme ausführen</translation>
    </message>
    <message>
        <source>`set` changes how the rest is read</source>
        <translation>`set` ändert, wie der Rest gelesen wird</translation>
    </message>
    <message>
        <source>`{0}` belongs to git, and edit tools never write git&apos;s own files. Use git commands instead.</source>
        <translation>`{0}` gehört git, und Bearbeitungswerkzeuge schreiben nie gits eigene Dateien. Verwenden Sie stattdessen git-Befehle.</translation>
    </message>
    <message>
        <source>`{0}` can run other programs</source>
        <translation>`{0}` kann andere Programme ausführen</translation>
    </message>
    <message>
        <source>`{0}` changes what later commands mean</source>
        <translation>`{0}` ändert, was spätere Befehle bedeuten</translation>
    </message>
    <message>
        <source>`{0}` is not expected there.</source>
        <translation>`{0}` wird dort nicht erwartet.</translation>
    </message>
    <message>
        <source>`{0}` is not the system&apos;s `{1}`</source>
        <translation>`{0}` ist nicht das `{1}` des Systems</translation>
    </message>
    <message>
        <source>`{0}` is redefined in this line</source>
        <translation>`{0}` wird in dieser Zeile neu definiert</translation>
    </message>
    <message>
        <source>`{0}` is saved, but this project is stricter: here it is `{1}`, from `{2}`.</source>
        <translation>`{0}` ist gespeichert, aber dieses Projekt ist strenger: Hier gilt `{1}`, aus `{2}`.</translation>
    </message>
    <message>
        <source>`{0}` runs a file&apos;s commands in this shell</source>
        <translation>`{0}` führt die Befehle einer Datei in dieser Shell aus</translation>
    </message>
    <message>
        <source>`{0}` runs a script that is not known beforehand</source>
        <translation>`{0}` führt ein Skript aus, das vorher nicht bekannt ist</translation>
    </message>
    <message>
        <source>`{0}` runs what it reads</source>
        <translation>`{0}` führt aus, was es liest</translation>
    </message>
    <message>
        <source>`{0}` where a command was expected</source>
        <translation>`{0}` an der Stelle eines Befehls</translation>
    </message>
    <message>
        <source>a command that goes on behind its line</source>
        <translation>ein Befehl, der hinter seiner Zeile weitergeht</translation>
    </message>
    <message>
        <source>a comment that was not understood</source>
        <translation>ein Kommentar, der nicht verstanden wurde</translation>
    </message>
    <message>
        <source>a comment where a word was expected</source>
        <translation>ein Kommentar an der Stelle eines Wortes</translation>
    </message>
    <message>
        <source>a here document that does not end where it seems to</source>
        <translation>ein Here-Dokument, das nicht dort endet, wo es zu enden scheint</translation>
    </message>
    <message>
        <source>a here document that was not understood</source>
        <translation>ein Here-Dokument, das nicht verstanden wurde</translation>
    </message>
    <message>
        <source>a line that goes on inside a word</source>
        <translation>eine Zeile, die in einem Wort weitergeht</translation>
    </message>
    <message>
        <source>a name that is evaluated, and whose value may be run</source>
        <translation>ein Name, der ausgewertet wird und dessen Wert ausgeführt werden kann</translation>
    </message>
    <message>
        <source>a program for {0}</source>
        <translation>ein Programm für {0}</translation>
    </message>
    <message>
        <source>a project&apos;s agent gets no secrets from your keyring: remove secrets</source>
        <translation>der Agent eines Projekts bekommt keine Geheimnisse aus Ihrem Schlüsselbund: Entfernen Sie secrets</translation>
    </message>
    <message>
        <source>a quote that does not end</source>
        <translation>ein Anführungszeichen, das nicht geschlossen wird</translation>
    </message>
    <message>
        <source>a quoted text that shells read differently</source>
        <translation>ein Text in Anführungszeichen, den Shells verschieden lesen</translation>
    </message>
    <message>
        <source>a redirection of a descriptor that was not understood</source>
        <translation>eine Umleitung eines Deskriptors, die nicht verstanden wurde</translation>
    </message>
    <message>
        <source>a redirection that shells read differently</source>
        <translation>eine Umleitung, die Shells verschieden lesen</translation>
    </message>
    <message>
        <source>a redirection that was not understood</source>
        <translation>eine Umleitung, die nicht verstanden wurde</translation>
    </message>
    <message>
        <source>a redirection whose target shells expand twice, or split</source>
        <translation>eine Umleitung, deren Ziel Shells zweimal expandieren oder zerteilen</translation>
    </message>
    <message>
        <source>a redirection without a target</source>
        <translation>eine Umleitung ohne Ziel</translation>
    </message>
    <message>
        <source>a script for {0}</source>
        <translation>ein Skript für {0}</translation>
    </message>
    <message>
        <source>a server</source>
        <translation>einen Server</translation>
    </message>
    <message>
        <source>a test that was not understood</source>
        <translation>ein Test, der nicht verstanden wurde</translation>
    </message>
    <message>
        <source>a text that is translated, and may be run</source>
        <translation>ein Text, der übersetzt wird und ausgeführt werden kann</translation>
    </message>
    <message>
        <source>a value of {0}, which the shell may run</source>
        <translation>ein Wert von {0}, den die Shell ausführen kann</translation>
    </message>
    <message>
        <source>a word that begins behind its line</source>
        <translation>ein Wort, das hinter seiner Zeile beginnt</translation>
    </message>
    <message>
        <source>accounts</source>
        <translation>Konten</translation>
    </message>
    <message>
        <source>agent</source>
        <translation>Agenten</translation>
    </message>
    <message>
        <source>all hooks are switched off</source>
        <translation>alle Hooks sind ausgeschaltet</translation>
    </message>
    <message>
        <source>all skills are switched off</source>
        <translation>alle Skills sind ausgeschaltet</translation>
    </message>
    <message>
        <source>an API key</source>
        <translation>einem API-Schlüssel</translation>
    </message>
    <message>
        <source>an agent</source>
        <translation>einen Agenten</translation>
    </message>
    <message>
        <source>an assignment that was not recognised</source>
        <translation>eine Zuweisung, die nicht erkannt wurde</translation>
    </message>
    <message>
        <source>an expansion inside single quotes</source>
        <translation>eine Expansion in einfachen Anführungszeichen</translation>
    </message>
    <message>
        <source>an expansion that does not end</source>
        <translation>eine Expansion, die nicht endet</translation>
    </message>
    <message>
        <source>an expansion that was not recognised</source>
        <translation>eine Expansion, die nicht erkannt wurde</translation>
    </message>
    <message>
        <source>an operator inside a word</source>
        <translation>ein Operator in einem Wort</translation>
    </message>
    <message>
        <source>another skill has this name, in {0}</source>
        <translation>ein anderer Skill hat diesen Namen, in {0}</translation>
    </message>
    <message>
        <source>backslashes inside backticks</source>
        <translation>umgekehrte Schrägstriche in Backticks</translation>
    </message>
    <message>
        <source>code for {0}</source>
        <translation>Code für {0}</translation>
    </message>
    <message>
        <source>code for {0} from its input</source>
        <translation>Code für {0} aus der Eingabe</translation>
    </message>
    <message>
        <source>embedded files</source>
        <translation>eingebettete Dateien</translation>
    </message>
    <message>
        <source>expansions in a here document</source>
        <translation>Expansionen in einem Here-Dokument</translation>
    </message>
    <message>
        <source>file of the accounts</source>
        <translation>Datei der Konten</translation>
    </message>
    <message>
        <source>hooks of other programs are switched off</source>
        <translation>Hooks anderer Programme sind ausgeschaltet</translation>
    </message>
    <message>
        <source>images</source>
        <translation>Bilder</translation>
    </message>
    <message>
        <source>it has a part of an unknown kind ({0})</source>
        <translation>er enthält einen Teil unbekannter Art ({0})</translation>
    </message>
    <message>
        <source>it has more than {0} KiB</source>
        <translation>er hat mehr als {0} KiB</translation>
    </message>
    <message>
        <source>it is a link that leads out of the folder</source>
        <translation>er ist ein Link, der aus dem Ordner hinausführt</translation>
    </message>
    <message>
        <source>it is empty</source>
        <translation>er ist leer</translation>
    </message>
    <message>
        <source>it is nested too deeply</source>
        <translation>er ist zu tief verschachtelt</translation>
    </message>
    <message>
        <source>it is no file</source>
        <translation>er ist keine Datei</translation>
    </message>
    <message>
        <source>it is not UTF-8 text</source>
        <translation>er ist kein UTF-8-Text</translation>
    </message>
    <message>
        <source>it is not valid TOML: {0}</source>
        <translation>er ist kein gültiges TOML: {0}</translation>
    </message>
    <message>
        <source>it is not valid shell</source>
        <translation>er ist keine gültige Shell-Syntax</translation>
    </message>
    <message>
        <source>it needs a command line</source>
        <translation>er braucht eine Befehlszeile</translation>
    </message>
    <message>
        <source>it runs too many commands</source>
        <translation>er führt zu viele Befehle aus</translation>
    </message>
    <message>
        <source>its front matter has no description</source>
        <translation>sein Vorspann hat keine Beschreibung</translation>
    </message>
    <message>
        <source>its name has characters other than letters, digits, - and _</source>
        <translation>sein Name hat andere Zeichen als Buchstaben, Ziffern, - und _</translation>
    </message>
    <message>
        <source>its name is not that of its folder</source>
        <translation>sein Name ist nicht der seines Ordners</translation>
    </message>
    <message>
        <source>its plugin is not used</source>
        <translation>sein Plugin wird nicht verwendet</translation>
    </message>
    <message>
        <source>its plugin waits for your answer</source>
        <translation>sein Plugin wartet auf Ihre Antwort</translation>
    </message>
    <message>
        <source>models</source>
        <translation>Modelle</translation>
    </message>
    <message>
        <source>name may have at most 32 letters, digits, &apos;-&apos;, &apos;_&apos; and &apos;.&apos;</source>
        <translation>der Name darf höchstens 32 Buchstaben, Ziffern, „-“, „_“ und „.“ haben</translation>
    </message>
    <message>
        <source>options of `find` that are not known</source>
        <translation>Optionen von `find`, die nicht bekannt sind</translation>
    </message>
    <message>
        <source>options of `{0}` that are not known</source>
        <translation>Optionen von `{0}`, die nicht bekannt sind</translation>
    </message>
    <message>
        <source>quoted text that may be run</source>
        <translation>Text in Anführungszeichen, der ausgeführt werden kann</translation>
    </message>
    <message>
        <source>resuming sessions</source>
        <translation>das Fortsetzen von Sitzungen</translation>
    </message>
    <message>
        <source>rules</source>
        <translation>Regeln</translation>
    </message>
    <message>
        <source>server</source>
        <translation>Server</translation>
    </message>
    <message>
        <source>settings file</source>
        <translation>Einstellungsdatei</translation>
    </message>
    <message>
        <source>syntax of bash, which another shell reads differently</source>
        <translation>Syntax von bash, die eine andere Shell anders liest</translation>
    </message>
    <message>
        <source>text that was not understood</source>
        <translation>Text, der nicht verstanden wurde</translation>
    </message>
    <message>
        <source>the value of {0} may be run later</source>
        <translation>der Wert von {0} kann später ausgeführt werden</translation>
    </message>
    <message>
        <source>there is too much text in all skills together</source>
        <translation>alle Skills zusammen haben zu viel Text</translation>
    </message>
    <message>
        <source>with one model</source>
        <translation>mit einem Modell</translation>
    </message>
    <message>
        <source>with {0} models</source>
        <translation>mit {0} Modellen</translation>
    </message>
    <message>
        <source>without a model</source>
        <translation>ohne Modell</translation>
    </message>
    <message>
        <source>words of `{0}` that are not known</source>
        <translation>Wörter von `{0}`, die nicht bekannt sind</translation>
    </message>
    <message>
        <source>words that run together</source>
        <translation>Wörter, die ineinander übergehen</translation>
    </message>
    <message>
        <source>you ignore what this project brings</source>
        <translation>Sie ignorieren, was dieses Projekt mitbringt</translation>
    </message>
    <message>
        <source>your Entra sign-in</source>
        <translation>Ihrer Entra-Anmeldung</translation>
    </message>
    <message>
        <source>your Google sign-in</source>
        <translation>Ihrer Google-Anmeldung</translation>
    </message>
    <message>
        <source>{0} Finish or abort it with git first.</source>
        <translation>{0} Beenden Sie das zuerst mit Git, oder brechen Sie es ab.</translation>
    </message>
    <message>
        <source>{0} If no git is running, remove {1}.</source>
        <translation>{0} Falls kein Git läuft, entfernen Sie {1}.</translation>
    </message>
    <message>
        <source>{0} It is not part of the conversation.</source>
        <translation>{0} Das gehört nicht zur Unterhaltung.</translation>
    </message>
    <message>
        <source>{0} Or give it a key. {1}</source>
        <translation>{0} Oder geben Sie ihm einen Schlüssel. {1}</translation>
    </message>
    <message>
        <source>{0} Resolve them with git first.</source>
        <translation>{0} Lösen Sie sie zuerst mit Git.</translation>
    </message>
    <message>
        <source>{0} Try again.</source>
        <translation>{0} Versuchen Sie es noch einmal.</translation>
    </message>
    <message>
        <source>{0} What {1} runs could not be downloaded, or fails by itself.</source>
        <translation>{0} Was {1} ausführt, konnte nicht heruntergeladen werden oder schlägt von sich aus fehl.</translation>
    </message>
    <message>
        <source>{0} accounts cannot be of the kind {1}; possible: {2}</source>
        <translation>Konten bei {0} können nicht von der Art {1} sein; möglich: {2}</translation>
    </message>
    <message>
        <source>{0} answered the sign-in with something other than a key.</source>
        <translation>{0} hat die Anmeldung mit etwas anderem als einem Schlüssel beantwortet.</translation>
    </message>
    <message>
        <source>{0} answered with {1} {2}.</source>
        <translation>{0} hat mit {1} {2} geantwortet.</translation>
    </message>
    <message>
        <source>{0} answers on {1}, not {2}.</source>
        <translation>Auf {1} antwortet {0}, nicht {2}.</translation>
    </message>
    <message>
        <source>{0} asked {1} something, and got the answer.</source>
        <translation>{0} hat {1} etwas gefragt und die Antwort erhalten.</translation>
    </message>
    <message>
        <source>{0} began {1} calls and ended none of them.</source>
        <translation>{0} hat {1} Aufrufe begonnen und keinen davon beendet.</translation>
    </message>
    <message>
        <source>{0} cannot be added as a plugin: {1}.</source>
        <translation>{0} kann nicht als Plugin hinzugefügt werden: {1}.</translation>
    </message>
    <message>
        <source>{0} cannot be asked with these settings.</source>
        <translation>{0} kann mit diesen Einstellungen nicht gefragt werden.</translation>
    </message>
    <message>
        <source>{0} cannot be changed in the {1} as it is written there, so nothing was saved.</source>
        <translation>Nichts wurde gespeichert, denn {0} kann so, wie es dort steht, nicht geändert werden: {1}.</translation>
    </message>
    <message>
        <source>{0} cannot be kept to planning.</source>
        <translation>{0} lässt sich nicht auf das Planen beschränken.</translation>
    </message>
    <message>
        <source>{0} cannot be read: {1}.</source>
        <translation>{0} kann nicht gelesen werden: {1}.</translation>
    </message>
    <message>
        <source>{0} cannot be the name of a variable</source>
        <translation>{0} kann nicht der Name einer Variable sein</translation>
    </message>
    <message>
        <source>{0} cannot be the name of a worktree.</source>
        <translation>{0} kann nicht der Name eines Worktrees sein.</translation>
    </message>
    <message>
        <source>{0} cannot set {1} to {2}.</source>
        <translation>{0} kann {1} nicht auf {2} setzen.</translation>
    </message>
    <message>
        <source>{0} compressed its answer, although it was asked not to, so the answer was not read.</source>
        <translation>{0} hat die Antwort komprimiert, obwohl das nicht erwünscht war, daher wurde sie nicht gelesen.</translation>
    </message>
    <message>
        <source>{0} could not be reached.</source>
        <translation>{0} war nicht erreichbar.</translation>
    </message>
    <message>
        <source>{0} could not be started: {1}.</source>
        <translation>{0} konnte nicht gestartet werden: {1}.</translation>
    </message>
    <message>
        <source>{0} could not summarise its conversation.</source>
        <translation>{0} konnte sein Gespräch nicht zusammenfassen.</translation>
    </message>
    <message>
        <source>{0} decides by itself how much it thinks.</source>
        <translation>{0} entscheidet selbst, wie viel es nachdenkt.</translation>
    </message>
    <message>
        <source>{0} did not answer within {1} s.</source>
        <translation>{0} hat nicht innerhalb von {1} s geantwortet.</translation>
    </message>
    <message>
        <source>{0} did not let git in, so nothing was pushed.</source>
        <translation>{0} hat git nicht eingelassen, deshalb wurde nichts gepusht.</translation>
    </message>
    <message>
        <source>{0} does not answer.</source>
        <translation>{0} antwortet nicht.</translation>
    </message>
    <message>
        <source>{0} does not speak HTTP, or broke off.</source>
        <translation>{0} spricht kein HTTP oder hat abgebrochen.</translation>
    </message>
    <message>
        <source>{0} does not take your message now. It waits for the end of the turn.</source>
        <translation>{0} nimmt Ihre Nachricht jetzt nicht an. Sie wartet bis zum Ende der Runde.</translation>
    </message>
    <message>
        <source>{0} does not tell what it costs, so cost limits do not apply to it.</source>
        <translation>{0} teilt nicht mit, was es kostet; Kostenlimits gelten dafür also nicht.</translation>
    </message>
    <message>
        <source>{0} downloads what it runs.</source>
        <translation>{0} lädt herunter, was es ausführt.</translation>
    </message>
    <message>
        <source>{0} goes on with its own session, which could not be compared with this conversation.</source>
        <translation>{0} macht mit der eigenen Sitzung weiter. Sie ließ sich nicht mit dieser Unterhaltung vergleichen.</translation>
    </message>
    <message>
        <source>{0} has all commits of {1}.</source>
        <translation>{0} hat alle Commits von {1}.</translation>
    </message>
    <message>
        <source>{0} has commits that you do not have, so nothing was pushed.</source>
        <translation>{0} hat Commits, die Sie nicht haben, deshalb wurde nichts gepusht.</translation>
    </message>
    <message>
        <source>{0} has conflicts.</source>
        <translation>{0} hat Konflikte.</translation>
    </message>
    <message>
        <source>{0} has no agent {1}.</source>
        <translation>{0} hat keinen Agenten {1}.</translation>
    </message>
    <message>
        <source>{0} has no mode {1}.</source>
        <translation>{0} hat keinen Modus {1}.</translation>
    </message>
    <message>
        <source>{0} has no option {1}.</source>
        <translation>{0} hat keine Option {1}.</translation>
    </message>
    <message>
        <source>{0} has secrets, and is not given to agents.</source>
        <translation>{0} enthält Geheimnisse und wird Agenten nicht gegeben.</translation>
    </message>
    <message>
        <source>{0} has {1} agents: name one.</source>
        <translation>{0} hat {1} Agenten: Nennen Sie einen.</translation>
    </message>
    <message>
        <source>{0} is in progress.</source>
        <translation>{0} läuft gerade.</translation>
    </message>
    <message>
        <source>{0} is not JSON.</source>
        <translation>{0} ist kein JSON.</translation>
    </message>
    <message>
        <source>{0} is not a file that can be read, or is larger than {1} MiB.</source>
        <translation>{0} ist keine Datei, die gelesen werden kann, oder ist größer als {1} MiB.</translation>
    </message>
    <message>
        <source>{0} is not a file.</source>
        <translation>{0} ist keine Datei.</translation>
    </message>
    <message>
        <source>{0} is not a section in the {1}.</source>
        <translation>{0} ist kein Abschnitt: {1}.</translation>
    </message>
    <message>
        <source>{0} is not encrypted, and {1} names this proxy. Use an https:// address, or add the host to NO_PROXY.</source>
        <translation>{0} ist nicht verschlüsselt, und {1} nennt diesen Proxy. Verwenden Sie eine https://-Adresse, oder nehmen Sie den Host in NO_PROXY auf.</translation>
    </message>
    <message>
        <source>{0} is not installed.</source>
        <translation>{0} ist nicht installiert.</translation>
    </message>
    <message>
        <source>{0} is not running on {1}.</source>
        <translation>{0} läuft nicht auf {1}.</translation>
    </message>
    <message>
        <source>{0} is not signed in.</source>
        <translation>{0} ist nicht angemeldet.</translation>
    </message>
    <message>
        <source>{0} is not text: {1}.</source>
        <translation>{0} ist kein Text: {1}.</translation>
    </message>
    <message>
        <source>{0} is not written as [[{1}]] in the {2}.</source>
        <translation>{0} ist nicht als [[{1}]] geschrieben: {2}.</translation>
    </message>
    <message>
        <source>{0} is reserved for the account without a name</source>
        <translation>{0} ist für das Konto ohne Namen reserviert</translation>
    </message>
    <message>
        <source>{0} is still not sent, because a glob in {1} covers it.</source>
        <translation>{0} wird weiterhin nicht gesendet, weil ein Muster in {1} darauf passt.</translation>
    </message>
    <message>
        <source>{0} is too long: files in {1} could not be opened at that path.</source>
        <translation>{0} ist zu lang: Dateien in {1} ließen sich unter diesem Pfad nicht öffnen.</translation>
    </message>
    <message>
        <source>{0} names {1}, which {2}.</source>
        <translation>{0} nennt {1}: {2}.</translation>
    </message>
    <message>
        <source>{0} needs packages that are not installed.</source>
        <translation>{0} braucht Pakete, die nicht installiert sind.</translation>
    </message>
    <message>
        <source>{0} offers no encrypted connection that can be trusted.</source>
        <translation>{0} bietet keine verschlüsselte Verbindung, der man vertrauen kann.</translation>
    </message>
    <message>
        <source>{0} on {1} is still loading its model.</source>
        <translation>{0} auf {1} lädt noch sein Modell.</translation>
    </message>
    <message>
        <source>{0} opened a session without an id.</source>
        <translation>{0} hat eine Sitzung ohne Kennung geöffnet.</translation>
    </message>
    <message>
        <source>{0} redirects to {1}. Neither the key nor the conversation was sent there.</source>
        <translation>{0} leitet nach {1} weiter. Weder der Schlüssel noch die Unterhaltung wurde dorthin gesendet.</translation>
    </message>
    <message>
        <source>{0} runs its commands outside the sandbox.</source>
        <translation>{0} führt seine Befehle außerhalb der Sandbox aus.</translation>
    </message>
    <message>
        <source>{0} runs on {1}, {2}.</source>
        <translation>{0} läuft auf {1}, {2}.</translation>
    </message>
    <message>
        <source>{0} speaks version {1} of the protocol, and only version {2} is known here.</source>
        <translation>{0} spricht Version {1} des Protokolls, hier ist nur Version {2} bekannt.</translation>
    </message>
    <message>
        <source>{0} summarised the older part of its conversation.</source>
        <translation>{0} hat den älteren Teil seines Gesprächs zusammengefasst.</translation>
    </message>
    <message>
        <source>{0} summarises its conversation by itself, when it needs room.</source>
        <translation>{0} fasst sein Gespräch selbst zusammen, wenn es Platz braucht.</translation>
    </message>
    <message>
        <source>{0} terminals are open. Release one first.</source>
        <translation>{0} Terminals sind offen. Geben Sie zuerst eines frei.</translation>
    </message>
    <message>
        <source>{0} was not used, or not in full: {1}.</source>
        <translation>{0} wurde nicht oder nicht ganz verwendet: {1}.</translation>
    </message>
    <message>
        <source>{0} was sent its own command `/compact`.</source>
        <translation>{0} hat seinen eigenen Befehl `/compact` erhalten.</translation>
    </message>
    <message>
        <source>{0} was stopped to read your message, and goes on with it.</source>
        <translation>{0} wurde angehalten, um Ihre Nachricht zu lesen, und macht damit weiter.</translation>
    </message>
    <message>
        <source>{0}, project {1}, region {2}</source>
        <translation>{0}, Projekt {1}, Region {2}</translation>
    </message>
    <message>
        <source>{0}Its changes so far are kept. Raise the time limit, or continue the session.</source>
        <translation>{0}Die bisherigen Änderungen bleiben. Erhöhen Sie das Zeitlimit, oder machen Sie mit der Sitzung weiter.</translation>
    </message>
    <message>
        <source>`{0}` often holds secrets, and what is printed goes to the model.</source>
        <translation>`{0}` enthält oft Geheimnisse, und was ausgegeben wird, geht an das Modell.</translation>
    </message>
    <message>
        <source>The effort of {0} cannot be set.</source>
        <translation>Der Aufwand von {0} kann nicht eingestellt werden.</translation>
    </message>
    <message>
        <source>What you said in its own program meanwhile is not shown here.</source>
        <translation>Was Sie inzwischen in dessen eigenem Programm gesagt haben, steht hier nicht.</translation>
    </message>
    <message>
        <source>`{0}` often holds secrets, and what is read goes to the model.</source>
        <translation>`{0}` enthält oft Geheimnisse, und was gelesen wird, geht an das Modell.</translation>
    </message>
    <message>
        <source>address: {0}</source>
        <translation>Adresse: {0}</translation>
    </message>
    <message>
        <source>binary data</source>
        <translation>Binärdaten</translation>
    </message>
    <message>
        <source>branches, tags and stash entries</source>
        <translation>Branches, Tags und Stash-Einträge</translation>
    </message>
    <message>
        <source>byte order mark added</source>
        <translation>Byte-Reihenfolge-Marke hinzugefügt</translation>
    </message>
    <message>
        <source>byte order mark removed</source>
        <translation>Byte-Reihenfolge-Marke entfernt</translation>
    </message>
    <message>
        <source>bzip2 data</source>
        <translation>bzip2-Daten</translation>
    </message>
    <message>
        <source>client_id must be of printable ASCII without spaces</source>
        <translation>client_id muss aus druckbaren ASCII-Zeichen ohne Leerzeichen bestehen</translation>
    </message>
    <message>
        <source>edits</source>
        <translation>Bearbeitungen</translation>
    </message>
    <message>
        <source>empty file</source>
        <translation>leere Datei</translation>
    </message>
    <message>
        <source>encoding {0}</source>
        <translation>Kodierung {0}</translation>
    </message>
    <message>
        <source>encoding {0} → {1}</source>
        <translation>Kodierung {0} → {1}</translation>
    </message>
    <message>
        <source>every public host</source>
        <translation>jeden öffentlichen Host</translation>
    </message>
    <message>
        <source>exactly this command</source>
        <translation>genau diesen Befehl</translation>
    </message>
    <message>
        <source>executable (mode {0})</source>
        <translation>ausführbar (Rechte {0})</translation>
    </message>
    <message>
        <source>failed: {0} ({1})</source>
        <translation>fehlgeschlagen: {0} ({1})</translation>
    </message>
    <message>
        <source>file of the models</source>
        <translation>Datei der Modelle</translation>
    </message>
    <message>
        <source>file of the rules</source>
        <translation>Datei der Regeln</translation>
    </message>
    <message>
        <source>for example https://models.example/v1</source>
        <translation>zum Beispiel https://models.example/v1</translation>
    </message>
    <message>
        <source>git, and uv, for uvx.</source>
        <translation>git, und uv, für uvx.</translation>
    </message>
    <message>
        <source>gzip data</source>
        <translation>gzip-Daten</translation>
    </message>
    <message>
        <source>header {0}: {1}</source>
        <translation>Header {0}: {1}</translation>
    </message>
    <message>
        <source>issuer must begin with https://, as the authorisation server writes it</source>
        <translation>issuer muss mit https:// beginnen, wie ihn der Autorisierungsserver schreibt</translation>
    </message>
    <message>
        <source>it has a user name or a password before the @; a key belongs in the keyring</source>
        <translation>sie enthält einen Benutzernamen oder ein Passwort vor dem @; ein Schlüssel gehört in den Schlüsselbund</translation>
    </message>
    <message>
        <source>it looks like a key, and a name is shown everywhere</source>
        <translation>er sieht wie ein Schlüssel aus, und ein Name wird überall angezeigt</translation>
    </message>
    <message>
        <source>it looks like a secret, which belongs in the keyring</source>
        <translation>er sieht wie ein Geheimnis aus, das in den Schlüsselbund gehört</translation>
    </message>
    <message>
        <source>it must begin with https:// or http://, {0}</source>
        <translation>sie muss mit https:// oder http:// beginnen, {0}</translation>
    </message>
    <message>
        <source>it needs a command line or an address</source>
        <translation>es fehlt eine Befehlszeile oder eine Adresse</translation>
    </message>
    <message>
        <source>it writes {0} and reaches {1}</source>
        <translation>er schreibt {0} und erreicht {1}</translation>
    </message>
    <message>
        <source>it writes {0}, also reads {1} and reaches {2}</source>
        <translation>er schreibt {0}, liest auch {1} und erreicht {2}</translation>
    </message>
    <message>
        <source>its provider is not known</source>
        <translation>sein Anbieter ist nicht bekannt</translation>
    </message>
    <message>
        <source>its value must be plain text</source>
        <translation>sein Wert muss einfacher Text sein</translation>
    </message>
    <message>
        <source>left alone: {0}</source>
        <translation>in Ruhe gelassen: {0}</translation>
    </message>
    <message>
        <source>left alone: {0} ({1})</source>
        <translation>in Ruhe gelassen: {0} ({1})</translation>
    </message>
    <message>
        <source>line endings changed ({0} → {1})</source>
        <translation>Zeilenenden geändert ({0} → {1})</translation>
    </message>
    <message>
        <source>macOS program</source>
        <translation>macOS-Programm</translation>
    </message>
    <message>
        <source>mcp definition &apos;name&apos; must contain text</source>
        <translation>der Name darf nicht leer sein</translation>
    </message>
    <message>
        <source>mcp definition missing required &apos;command&apos;</source>
        <translation>der Befehl fehlt</translation>
    </message>
    <message>
        <source>mcp definition missing required &apos;name&apos;</source>
        <translation>der Name fehlt</translation>
    </message>
    <message>
        <source>mcp definition {0} has a command and a url; a server is started or reached, not both</source>
        <translation>{0} hat einen Befehl und eine Adresse; ein Server wird gestartet oder erreicht, nicht beides</translation>
    </message>
    <message>
        <source>merged with later edits: {0}</source>
        <translation>mit späteren Änderungen vereint: {0}</translation>
    </message>
    <message>
        <source>merged with later edits: {0} ({1})</source>
        <translation>mit späteren Änderungen vereint: {0} ({1})</translation>
    </message>
    <message>
        <source>mode {0} → {1}</source>
        <translation>Rechte {0} → {1}</translation>
    </message>
    <message>
        <source>name {0}: {1}</source>
        <translation>Name {0}: {1}</translation>
    </message>
    <message>
        <source>name: {0}</source>
        <translation>Name: {0}</translation>
    </message>
    <message>
        <source>named pipe</source>
        <translation>benannte Pipe</translation>
    </message>
    <message>
        <source>newline added at the end of the file</source>
        <translation>Zeilenende am Dateiende hinzugefügt</translation>
    </message>
    <message>
        <source>no network</source>
        <translation>kein Netz</translation>
    </message>
    <message>
        <source>no newline at the end of the file</source>
        <translation>kein Zeilenende am Dateiende</translation>
    </message>
    <message>
        <source>only line endings changed ({0} → {1})</source>
        <translation>nur Zeilenenden geändert ({0} → {1})</translation>
    </message>
    <message>
        <source>removed {0}</source>
        <translation>entfernt: {0}</translation>
    </message>
    <message>
        <source>removed {0} ({1})</source>
        <translation>entfernt: {0} ({1})</translation>
    </message>
    <message>
        <source>restored {0}</source>
        <translation>wie zuvor: {0}</translation>
    </message>
    <message>
        <source>restored {0} ({1})</source>
        <translation>wie zuvor: {0} ({1})</translation>
    </message>
    <message>
        <source>sandbox</source>
        <translation>Sandbox</translation>
    </message>
    <message>
        <source>static library</source>
        <translation>statische Bibliothek</translation>
    </message>
    <message>
        <source>symbolic link</source>
        <translation>symbolischer Link</translation>
    </message>
    <message>
        <source>tar archive</source>
        <translation>tar-Archiv</translation>
    </message>
    <message>
        <source>the files of this folder</source>
        <translation>die Dateien dieses Ordners</translation>
    </message>
    <message>
        <source>the files of this folder, branches, tags and stash entries</source>
        <translation>die Dateien dieses Ordners, Branches, Tags und Stash-Einträge</translation>
    </message>
    <message>
        <source>the header {0} is a secret, which belongs in the keyring: take it out of this file, and define the server with `desktop-agent mcp add {1} --url URL --header &apos;{2}=…&apos;`</source>
        <translation>der Header {0} ist ein Geheimnis, das in den Schlüsselbund gehört: entfernen Sie ihn aus dieser Datei, und legen Sie den Server mit `desktop-agent mcp add {1} --url URL --header &apos;{2}=…&apos;` an</translation>
    </message>
    <message>
        <source>the open folder</source>
        <translation>den geöffneten Ordner</translation>
    </message>
    <message>
        <source>there is no home folder for {0}</source>
        <translation>es gibt keinen persönlichen Ordner für {0}</translation>
    </message>
    <message>
        <source>too large to compare line by line ({0} MB, {1} lines)</source>
        <translation>zu groß für einen Vergleich Zeile für Zeile ({0} MB, {1} Zeilen)</translation>
    </message>
    <message>
        <source>url begins with http://, so others on the network could read and change what is sent: use its https:// address, or define it in the settings file with allow_unencrypted = true</source>
        <translation>die Adresse beginnt mit http://, also könnten andere im Netz lesen und ändern, was gesendet wird: nehmen Sie die Adresse mit https://, oder legen Sie den Server in der Einstellungsdatei mit allow_unencrypted = true an</translation>
    </message>
    <message>
        <source>url cannot be used: {0}</source>
        <translation>die Adresse ist nicht brauchbar: {0}</translation>
    </message>
    <message>
        <source>url has a user name or a password before the @; a credential belongs in the keyring</source>
        <translation>die Adresse enthält einen Benutzernamen oder ein Passwort vor dem @; Zugangsdaten gehören in den Schlüsselbund</translation>
    </message>
    <message>
        <source>url must begin with https:// or http://</source>
        <translation>die Adresse muss mit https:// oder http:// beginnen</translation>
    </message>
    <message>
        <source>uv, for uvx, and credentials of AWS: a profile in ~/.aws.</source>
        <translation>uv, für uvx, und Zugangsdaten von AWS: ein Profil in ~/.aws.</translation>
    </message>
    <message>
        <source>uv, for uvx.</source>
        <translation>uv, für uvx.</translation>
    </message>
    <message>
        <source>waiting for you</source>
        <translation>wartet auf Sie</translation>
    </message>
    <message>
        <source>{0} Choose another name.</source>
        <translation>{0} Wählen Sie einen anderen Namen.</translation>
    </message>
    <message>
        <source>{0} Nothing was written.</source>
        <translation>{0} Es wurde nichts geschrieben.</translation>
    </message>
    <message>
        <source>{0} Your approval policy never asks, so this was refused. Adapt, or do without it.</source>
        <translation>{0} Ihre Freigaberegelung fragt nie, daher wurde dies verweigert. Passen Sie sich an, oder verzichten Sie darauf.</translation>
    </message>
    <message>
        <source>{0} answers from here on. It does not get all of the conversation.</source>
        <translation>{0} antwortet ab hier. Es erhält nicht die ganze Unterhaltung.</translation>
    </message>
    <message>
        <source>{0} belongs to git.</source>
        <translation>{0} gehört zu git.</translation>
    </message>
    <message>
        <source>{0} cannot be moved into itself.</source>
        <translation>{0} kann nicht in sich selbst verschoben werden.</translation>
    </message>
    <message>
        <source>{0} cannot be read.</source>
        <translation>{0} kann nicht gelesen werden.</translation>
    </message>
    <message>
        <source>{0} changed by the agent.</source>
        <translation>Vom Agenten geändert: {0}.</translation>
    </message>
    <message>
        <source>{0} changed on disk before the edit could be written. Nothing was written. Read it again, then redo the edit against its current content.</source>
        <translation>{0} hat sich auf der Platte geändert, bevor die Bearbeitung geschrieben werden konnte. Es wurde nichts geschrieben. Lesen Sie sie erneut, und wiederholen Sie die Bearbeitung am aktuellen Inhalt.</translation>
    </message>
    <message>
        <source>{0} could not be moved: {1}. Nothing was changed.</source>
        <translation>{0} konnte nicht verschoben werden: {1}. Es wurde nichts geändert.</translation>
    </message>
    <message>
        <source>{0} could not be written: {1}. Nothing was changed.</source>
        <translation>{0} konnte nicht geschrieben werden: {1}. Es wurde nichts geändert.</translation>
    </message>
    <message>
        <source>{0} defines nothing with that name.</source>
        <translation>{0} definiert nichts mit diesem Namen.</translation>
    </message>
    <message>
        <source>{0} definitions have that name.</source>
        <translation>{0} Definitionen haben diesen Namen.</translation>
    </message>
    <message>
        <source>{0} did not register this application for your account.</source>
        <translation>{0} hat diese Anwendung nicht für Ihr Konto registriert.</translation>
    </message>
    <message>
        <source>{0} did not sign you in.</source>
        <translation>{0} hat Sie nicht angemeldet.</translation>
    </message>
    <message>
        <source>{0} does not allow this application to use your plan.</source>
        <translation>{0} erlaubt dieser Anwendung nicht, Ihren Tarif zu nutzen.</translation>
    </message>
    <message>
        <source>{0} is not in the folder of this conversation.</source>
        <translation>{0} liegt nicht im Ordner dieser Unterhaltung.</translation>
    </message>
    <message>
        <source>{0} entries must be tables</source>
        <translation>die Einträge von {0} müssen Tabellen sein</translation>
    </message>
    <message>
        <source>{0} file changed by the agent.</source>
        <translation>{0} Datei hat der Agent geändert.</translation>
    </message>
    <message>
        <source>{0} files changed by the agent.</source>
        <translation>{0} Dateien hat der Agent geändert.</translation>
    </message>
    <message>
        <source>{0} has a git repository in it: {1}.</source>
        <translation>In {0} liegt ein Git-Repository: {1}.</translation>
    </message>
    <message>
        <source>{0} has another disk or folder mounted in it: {1}.</source>
        <translation>In {0} ist ein anderer Datenträger oder Ordner eingehängt: {1}.</translation>
    </message>
    <message>
        <source>{0} has become a {1}.</source>
        <translation>{0} ist jetzt etwas anderes: {1}.</translation>
    </message>
    <message>
        <source>{0} is a file, not a folder.</source>
        <translation>{0} ist eine Datei und kein Ordner.</translation>
    </message>
    <message>
        <source>{0} is a {1} and cannot hold this.</source>
        <translation>{0} ist {1} und kann dies nicht enthalten.</translation>
    </message>
    <message>
        <source>{0} is for a server in the sandbox: add sandbox = true</source>
        <translation>{0} gilt nur für einen Server in der Sandbox: ergänzen Sie sandbox = true</translation>
    </message>
    <message>
        <source>{0} is missing.</source>
        <translation>{0} fehlt.</translation>
    </message>
    <message>
        <source>Code cannot be applied to {0}.</source>
        <translation>{0} ist keine Datei, auf die Code angewendet werden kann.</translation>
    </message>
    <message>
        <source>`{0}` is saved, but {1} takes precedence over the settings file.</source>
        <translation>`{0}` ist gespeichert, aber {1} hat Vorrang vor der Einstellungsdatei.</translation>
    </message>
    <message>
        <source>a client_id that is a URL must have a path, because it leads to a description of the application</source>
        <translation>eine client_id, die eine URL ist, braucht einen Pfad, weil sie zu einer Beschreibung der Anwendung führt</translation>
    </message>
    <message>
        <source>a project&apos;s server gets no secrets from your keyring: remove secret_env</source>
        <translation>der Server eines Projekts bekommt keine Geheimnisse aus Ihrem Schlüsselbund: entfernen Sie secret_env</translation>
    </message>
    <message>
        <source>callback_port must be a port number, and needs the client_id that it is registered with</source>
        <translation>callback_port muss eine Portnummer sein und braucht die client_id, mit der er registriert ist</translation>
    </message>
    <message>
        <source>grant client_credentials needs client_id and issuer; the secret is sent only to that issuer</source>
        <translation>grant client_credentials braucht client_id und issuer; das Geheimnis geht nur an diesen issuer</translation>
    </message>
    <message>
        <source>hosts contains {0}, which is not a host: write example.org, *.example.org, example.org:8080 or *</source>
        <translation>hosts enthält {0}, was kein Host ist: schreiben Sie example.org, *.example.org, example.org:8080 oder *</translation>
    </message>
    <message>
        <source>it contains a space or an invisible character</source>
        <translation>sie enthält ein Leerzeichen oder ein unsichtbares Zeichen</translation>
    </message>
    <message>
        <source>it contains no host, {0}</source>
        <translation>sie nennt keinen Host, {0}</translation>
    </message>
    <message>
        <source>it is not a valid header name</source>
        <translation>das ist kein gültiger Name eines Headers</translation>
    </message>
    <message>
        <source>it must have 1 to 40 letters or digits; . _ + @ - are allowed between them</source>
        <translation>er muss aus 1 bis 40 Buchstaben und Ziffern bestehen, mit . _ + @ - dazwischen</translation>
    </message>
    <message>
        <source>it must not contain ? or #, {0}</source>
        <translation>sie darf weder ? noch # enthalten, {0}</translation>
    </message>
    <message>
        <source>its host or port is not valid, {0}</source>
        <translation>ihr Host oder ihr Port ist ungültig, {0}</translation>
    </message>
    <message>
        <source>mcp definition {0}: a name may have at most 32 letters, digits, &apos;-&apos; and single &apos;_&apos;</source>
        <translation>{0}: ein Name besteht aus höchstens 32 Buchstaben, Ziffern, „-“ und einzelnen „_“</translation>
    </message>
    <message>
        <source>no change needed: {0}</source>
        <translation>keine Änderung nötig: {0}</translation>
    </message>
    <message>
        <source>no change needed: {0} ({1})</source>
        <translation>keine Änderung nötig: {0} ({1})</translation>
    </message>
    <message>
        <source>none of your files</source>
        <translation>nichts von Ihren Dateien</translation>
    </message>
    <message>
        <source>not all of it is UTF-8: other bytes are shown as numbers</source>
        <translation>nicht alles ist UTF-8: andere Bytes werden als Zahlen gezeigt</translation>
    </message>
    <message>
        <source>on, above {0} tokens</source>
        <translation>an, ab {0} Token</translation>
    </message>
    <message>
        <source>only an account with a name can have its own address</source>
        <translation>nur ein Konto mit Namen kann eine eigene Adresse haben</translation>
    </message>
    <message>
        <source>the application sets this header itself</source>
        <translation>die Anwendung setzt diesen Header selbst</translation>
    </message>
    <message>
        <source>too different to compare line by line: everything from the first to the last difference is shown as changed</source>
        <translation>zu verschieden für einen Vergleich Zeile für Zeile: Alles vom ersten bis zum letzten Unterschied gilt als geändert</translation>
    </message>
    <message>
        <source>{0} Check it, then try again.</source>
        <translation>{0} Prüfen Sie es, und versuchen Sie es dann noch einmal.</translation>
    </message>
    <message>
        <source>{0} If this address expects the key in another header: `{1}`.</source>
        <translation>{0} Falls diese Adresse Schlüssel in einem anderen Header erwartet: `{1}`.</translation>
    </message>
    <message>
        <source>{0} The connection goes through the proxy {1} ({2}).</source>
        <translation>{0} Die Verbindung geht über den Proxy {1} ({2}).</translation>
    </message>
    <message>
        <source>{0} The sandbox blocks that, so the command would run outside it.</source>
        <translation>{0} Die Sandbox lässt das nicht zu, der Befehl würde also außerhalb laufen.</translation>
    </message>
    <message>
        <source>{0} already exists, so nothing was written.</source>
        <translation>{0} gibt es schon, also wurde nichts geschrieben.</translation>
    </message>
    <message>
        <source>{0} answers, but not in the format of this model&apos;s API.</source>
        <translation>{0} antwortet, aber nicht im Format der API dieses Modells.</translation>
    </message>
    <message>
        <source>{0} belongs to another user, and an undo could not restore its owner.</source>
        <translation>{0} gehört einem anderen Benutzer, und ein Rückgängigmachen könnte den Eigentümer nicht wiederherstellen.</translation>
    </message>
    <message>
        <source>{0} cannot be read completely.</source>
        <translation>{0} kann nicht vollständig gelesen werden.</translation>
    </message>
    <message>
        <source>{0} contains an empty folder name</source>
        <translation>{0} enthält einen leeren Ordnernamen</translation>
    </message>
    <message>
        <source>{0} exceeds what is kept for an undo: {1} files and folders, or {2} MiB.</source>
        <translation>{0} überschreitet, was für ein Rückgängigmachen aufgehoben wird: {1} Dateien und Ordner oder {2} MiB.</translation>
    </message>
    <message>
        <source>{0} has cost {1}, and its limit is {2}.</source>
        <translation>{0} hat {1} gekostet, das Limit ist {2}.</translation>
    </message>
    <message>
        <source>{0} has no common history with what is checked out.</source>
        <translation>{0} hat keine gemeinsame Historie mit dem, was ausgecheckt ist.</translation>
    </message>
    <message>
        <source>{0} has no effort levels.</source>
        <translation>{0} kennt keine Stufe des Denkaufwands.</translation>
    </message>
    <message>
        <source>{0} is hard-linked, and an undo would break the link.</source>
        <translation>{0} hat einen Hardlink, den ein Rückgängigmachen auflösen würde.</translation>
    </message>
    <message>
        <source>{0} is no longer there.</source>
        <translation>{0} ist nicht mehr da.</translation>
    </message>
    <message>
        <source>{0} is not a scope of /rewind.</source>
        <translation>{0} ist für /rewind nicht möglich.</translation>
    </message>
    <message>
        <source>{0} is not UTF-8 text.</source>
        <translation>{0} ist kein UTF-8-Text.</translation>
    </message>
    <message>
        <source>{0} is not encrypted, and {1} names this proxy. Use an https:// address, add the host to NO_PROXY, or allow it: set model.allow_readable_proxy to true.</source>
        <translation>{0} ist nicht verschlüsselt, und {1} nennt diesen Proxy. Verwenden Sie eine https://-Adresse, nehmen Sie den Host in NO_PROXY auf, oder erlauben Sie es: Setzen Sie model.allow_readable_proxy auf true.</translation>
    </message>
    <message>
        <source>{0} is not encrypted: anyone on the way can read the key and the conversation.</source>
        <translation>{0} ist nicht verschlüsselt: Jeder auf dem Weg kann Schlüssel und Unterhaltung lesen.</translation>
    </message>
    <message>
        <source>{0} is not the number of a turn.</source>
        <translation>{0} ist keine Nummer einer Runde.</translation>
    </message>
    <message>
        <source>{0} is outside of the folder, so it was not mentioned.</source>
        <translation>{0} liegt außerhalb des Ordners und wurde daher nicht erwähnt.</translation>
    </message>
    <message>
        <source>{0} is overloaded, so {1} answers this request.</source>
        <translation>{0} ist überlastet, daher beantwortet {1} diese Anfrage.</translation>
    </message>
    <message>
        <source>{0} is too long a name.</source>
        <translation>{0} ist als Name zu lang.</translation>
    </message>
    <message>
        <source>{0} does not support the effort {1}, so it uses its default.</source>
        <translation>{0} kennt den Denkaufwand {1} nicht und denkt daher so viel nach, wie es von selbst tut.</translation>
    </message>
    <message>
        <source>{0} does not support the effort {1}.</source>
        <translation>{0} kennt den Denkaufwand {1} nicht.</translation>
    </message>
    <message>
        <source>{0} is not writable, so an undo could not restore its contents.</source>
        <translation>In {0} darf nicht geschrieben werden; kein Rückgängigmachen könnte es wieder füllen.</translation>
    </message>
    <message>
        <source>{0} records of this session could not be read and were left out.</source>
        <translation>{0} Einträge dieser Sitzung konnten nicht gelesen werden und wurden ausgelassen.</translation>
    </message>
    <message>
        <source>{0} refused the effort {1}, so it uses its default.</source>
        <translation>{0} hat den Denkaufwand {1} abgelehnt und denkt daher so viel nach, wie es von selbst tut.</translation>
    </message>
    <message>
        <source>{0} refused to finish the sign-in.</source>
        <translation>{0} hat sich geweigert, die Anmeldung abzuschließen.</translation>
    </message>
    <message>
        <source>{0} sent the browser back without an answer.</source>
        <translation>{0} hat den Browser ohne Antwort zurückgeschickt.</translation>
    </message>
    <message>
        <source>{0} must be letters, digits and . _ - : without spaces</source>
        <translation>{0} darf nur Buchstaben, Ziffern und . _ - : enthalten, keine Leerzeichen</translation>
    </message>
    <message>
        <source>{0} must be positive</source>
        <translation>{0} muss positiv sein</translation>
    </message>
    <message>
        <source>{0} was changed in the meantime, so it was not written.</source>
        <translation>{0} wurde zwischenzeitlich geändert und daher nicht geschrieben.</translation>
    </message>
    <message>
        <source>{0} was changed in the meantime.</source>
        <translation>{0} wurde zwischenzeitlich geändert.</translation>
    </message>
    <message>
        <source>{0} was not renamed.</source>
        <translation>{0} wurde nicht umbenannt.</translation>
    </message>
    <message>
        <source>{0} was not written.</source>
        <translation>{0} wurde nicht geschrieben.</translation>
    </message>
    <message>
        <source>{0}, and what is read goes to the model.</source>
        <translation>{0}, und was gelesen wird, geht an das Modell.</translation>
    </message>
    <message>
        <source>{0}, so only the requests, files and to-dos of the older turns were kept.</source>
        <translation>{0}, daher wurden von den älteren Runden nur die Fragen, die Dateien und die Aufgaben behalten.</translation>
    </message>
    <message>
        <source>{0}: the rules file has mistakes.</source>
        <translation>{0}: Die Regeldatei hat Fehler.</translation>
    </message>
    <message>
        <source>{0}=(from your keyring)</source>
        <translation>{0}=(aus Ihrem Schlüsselbund)</translation>
    </message>
</context>
<context>
    <name>CostLabel</name>
    <message>
        <source>Click to see the usage of all sessions.</source>
        <translation>Klicken, um die Nutzung aller Sitzungen zu sehen.</translation>
    </message>
    <message>
        <source>Cost of this session</source>
        <translation>Kosten dieser Sitzung</translation>
    </message>
    <message>
        <source>Last turn: {0}</source>
        <translation>Letzte Runde: {0}</translation>
    </message>
    <message>
        <source>The price of {0} tokens is not known: the cost is higher.</source>
        <translation>Der Preis von {0} Token ist nicht bekannt: Die Kosten sind höher.</translation>
    </message>
    <message>
        <source>This session: {0}</source>
        <translation>Diese Sitzung: {0}</translation>
    </message>
    <message>
        <source>{0} % of the tokens read came from the cache</source>
        <translation>{0} % der gelesenen Token kamen aus dem Cache</translation>
    </message>
    <message>
        <source>{0} tokens read by the model, {1} written</source>
        <translation>{0} Token vom Modell gelesen, {1} geschrieben</translation>
    </message>
</context>
<context>
    <name>CrashBar</name>
    <message>
        <source>A report was saved on this computer. Nothing was sent.</source>
        <translation>Ein Bericht liegt auf diesem Computer. Es wurde nichts gesendet.</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>Kopieren</translation>
    </message>
    <message>
        <source>Desktop Agent ended unexpectedly the last time.</source>
        <translation>Desktop Agent wurde beim letzten Mal unerwartet beendet.</translation>
    </message>
    <message>
        <source>Discard</source>
        <translation>Verwerfen</translation>
    </message>
    <message>
        <source>Open folder</source>
        <translation>Ordner öffnen</translation>
    </message>
    <message>
        <source>Report</source>
        <translation>Bericht</translation>
    </message>
    <message>
        <source>Show report</source>
        <translation>Bericht zeigen</translation>
    </message>
</context>
<context>
    <name>Dates</name>
    <message>
        <source>MMM yyyy</source>
        <translation>MMM yyyy</translation>
    </message>
    <message>
        <source>d MMM</source>
        <translation>d. MMM</translation>
    </message>
</context>
<context>
    <name>DeleteQuestion</name>
    <message>
        <source>Delete</source>
        <translation>Löschen</translation>
    </message>
    <message numerus="yes">
        <source>Delete %n sessions?</source>
        <translation>
            <numerusform>%n Sitzung löschen?</numerusform>
            <numerusform>%n Sitzungen löschen?</numerusform>
        </translation>
    </message>
    <message>
        <source>Delete session</source>
        <translation>Sitzung löschen</translation>
    </message>
    <message>
        <source>Delete sessions</source>
        <translation>Sitzungen löschen</translation>
    </message>
    <message>
        <source>Delete “{0}”?</source>
        <translation>„{0}“ löschen?</translation>
    </message>
    <message>
        <source>Its worktree {0} stays, with its files and its branch.</source>
        <translation>Ihr Worktree {0} bleibt, mit seinen Dateien und seinem Branch.</translation>
    </message>
    <message>
        <source>New session</source>
        <translation>Neue Sitzung</translation>
    </message>
    <message>
        <source>The conversation ({0}) and the undo history of its changes are deleted permanently.</source>
        <translation>Die Unterhaltung ({0}) und der Verlauf zum Rückgängigmachen ihrer Änderungen werden endgültig gelöscht.</translation>
    </message>
    <message>
        <source>The conversations ({0}) and the undo history of their changes are deleted permanently.</source>
        <translation>Die Unterhaltungen ({0}) und der Verlauf zum Rückgängigmachen ihrer Änderungen werden endgültig gelöscht.</translation>
    </message>
    <message>
        <source>The files in their folders stay as they are.</source>
        <translation>Die Dateien in ihren Ordnern bleiben, wie sie sind.</translation>
    </message>
    <message>
        <source>The files in {0} stay as they are.</source>
        <translation>Die Dateien in {0} bleiben, wie sie sind.</translation>
    </message>
</context>
<context>
    <name>DiffDocument</name>
    <message>
        <source>Nothing to show</source>
        <translation>Nichts anzuzeigen</translation>
    </message>
    <message>
        <source>The file has only one version to show</source>
        <translation>Die Datei hat nur eine Fassung zum Anzeigen</translation>
    </message>
    <message>
        <source>Too narrow for two columns</source>
        <translation>Zu schmal für zwei Spalten</translation>
    </message>
</context>
<context>
    <name>DiffLoader</name>
    <message>
        <source>Loading…</source>
        <translation>Wird geladen …</translation>
    </message>
    <message>
        <source>The change could not be shown</source>
        <translation>Die Änderung konnte nicht angezeigt werden</translation>
    </message>
    <message>
        <source>The log has the details.</source>
        <translation>Einzelheiten stehen im Protokoll.</translation>
    </message>
</context>
<context>
    <name>DiffMouse</name>
    <message>
        <source>Copy</source>
        <translation>Kopieren</translation>
    </message>
    <message>
        <source>Select all</source>
        <translation>Alles auswählen</translation>
    </message>
</context>
<context>
    <name>DiffPane</name>
    <message>
        <source>Find in the changes of this file</source>
        <translation>In den Änderungen dieser Datei suchen</translation>
    </message>
    <message>
        <source>Find in this file</source>
        <translation>In dieser Datei suchen</translation>
    </message>
</context>
<context>
    <name>DiffView</name>
    <message numerus="yes">
        <source>%n bytes</source>
        <translation>
            <numerusform>%n Byte</numerusform>
            <numerusform>%n Bytes</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n unchanged lines</source>
        <translation>
            <numerusform>%n unveränderte Zeile</numerusform>
            <numerusform>%n unveränderte Zeilen</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n unchanged lines, {0} with a different line ending</source>
        <translation>
            <numerusform>%n unveränderte Zeile, {0} davon mit anderem Zeilenende</numerusform>
            <numerusform>%n unveränderte Zeilen, {0} davon mit anderem Zeilenende</numerusform>
        </translation>
    </message>
    <message>
        <source>Binary file</source>
        <translation>Binärdatei</translation>
    </message>
    <message>
        <source>Change {0} of {1}: {2}</source>
        <translation>Änderung {0} von {1}: {2}</translation>
    </message>
    <message>
        <source>Changes in {0}: {1}, {2}</source>
        <translation>Änderungen in {0}: {1}, {2}</translation>
    </message>
    <message>
        <source>Empty file</source>
        <translation>Leere Datei</translation>
    </message>
    <message>
        <source>Folder</source>
        <translation>Ordner</translation>
    </message>
    <message numerus="yes">
        <source>Line endings of %n lines</source>
        <translation>
            <numerusform>Zeilenende von %n Zeile</numerusform>
            <numerusform>Zeilenenden von %n Zeilen</numerusform>
        </translation>
    </message>
    <message>
        <source>Line {0} added: {1}</source>
        <translation>Zeile {0} hinzugefügt: {1}</translation>
    </message>
    <message>
        <source>Line {0} removed: {1}</source>
        <translation>Zeile {0} entfernt: {1}</translation>
    </message>
    <message>
        <source>Line {0}: {1}. Changed to line {2}: {3}</source>
        <translation>Zeile {0}: {1}. Geändert in Zeile {2}: {3}</translation>
    </message>
    <message>
        <source>Line {0}: {1}</source>
        <translation>Zeile {0}: {1}</translation>
    </message>
    <message numerus="yes">
        <source>%n errors</source>
        <translation>
            <numerusform>%n Fehler</numerusform>
            <numerusform>%n Fehler</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n warnings</source>
        <translation>
            <numerusform>%n Warnung</numerusform>
            <numerusform>%n Warnungen</numerusform>
        </translation>
    </message>
    <message>
        <source>Error: {0}</source>
        <translation>Fehler: {0}</translation>
    </message>
    <message>
        <source>MCP server</source>
        <translation>MCP-Server</translation>
    </message>
    <message>
        <source>Named pipe</source>
        <translation>Benannte Pipe</translation>
    </message>
    <message>
        <source>No changes to show</source>
        <translation>Keine Änderungen anzuzeigen</translation>
    </message>
    <message>
        <source>Note: {0}</source>
        <translation>Hinweis: {0}</translation>
    </message>
    <message numerus="yes">
        <source>Only the line endings of %n lines changed</source>
        <translation>
            <numerusform>%n Zeile, nur das Zeilenende ist anders</numerusform>
            <numerusform>%n Zeilen, nur die Zeilenenden sind anders</numerusform>
        </translation>
    </message>
    <message>
        <source>Permissions</source>
        <translation>Rechte</translation>
    </message>
    <message>
        <source>Show</source>
        <translation>Anzeigen</translation>
    </message>
    <message>
        <source>Socket</source>
        <translation>Socket</translation>
    </message>
    <message>
        <source>The whole file</source>
        <translation>Die ganze Datei</translation>
    </message>
    <message>
        <source>Too large to show line by line</source>
        <translation>Zu groß, um Zeile für Zeile angezeigt zu werden</translation>
    </message>
    <message>
        <source>Warning: {0}</source>
        <translation>Warnung: {0}</translation>
    </message>
    <message>
        <source>You, on line {0}</source>
        <translation>Sie, zu Zeile {0}</translation>
    </message>
    <message>
        <source>You, on lines {0}–{1}</source>
        <translation>Sie, zu den Zeilen {0}–{1}</translation>
    </message>
    <message>
        <source>You, on old line {0}</source>
        <translation>Sie, zur alten Zeile {0}</translation>
    </message>
    <message>
        <source>You, on old lines {0}–{1}</source>
        <translation>Sie, zu den alten Zeilen {0}–{1}</translation>
    </message>
    <message>
        <source>You, on this file</source>
        <translation>Sie, zu dieser Datei</translation>
    </message>
    <message>
        <source>a running server, or you</source>
        <translation>ein laufender Server oder Sie</translation>
    </message>
    <message>
        <source>agent</source>
        <translation>Agent</translation>
    </message>
    <message>
        <source>committed</source>
        <translation>committet</translation>
    </message>
    <message>
        <source>created</source>
        <translation>erstellt</translation>
    </message>
    <message>
        <source>created, {0}</source>
        <translation>erstellt, {0}</translation>
    </message>
    <message>
        <source>deleted</source>
        <translation>gelöscht</translation>
    </message>
    <message>
        <source>deleted, was {0}</source>
        <translation>gelöscht, war {0}</translation>
    </message>
    <message>
        <source>kept</source>
        <translation>behalten</translation>
    </message>
    <message>
        <source>line {0}</source>
        <translation>Zeile {0}</translation>
    </message>
    <message>
        <source>line {0} removed</source>
        <translation>Zeile {0} entfernt</translation>
    </message>
    <message>
        <source>lines {0}–{1}</source>
        <translation>Zeilen {0}–{1}</translation>
    </message>
    <message>
        <source>lines {0}–{1} removed</source>
        <translation>Zeilen {0}–{1} entfernt</translation>
    </message>
    <message>
        <source>moved from line {0}</source>
        <translation>verschoben von Zeile {0}</translation>
    </message>
    <message>
        <source>moved to line {0}</source>
        <translation>verschoben nach Zeile {0}</translation>
    </message>
    <message>
        <source>no newline at the end</source>
        <translation>kein Zeilenende am Dateiende</translation>
    </message>
    <message>
        <source>not brought back</source>
        <translation>nicht zurückgeholt</translation>
    </message>
    <message>
        <source>not decided</source>
        <translation>nicht entschieden</translation>
    </message>
    <message>
        <source>shell</source>
        <translation>Shell</translation>
    </message>
    <message>
        <source>undo</source>
        <translation>Rückgängig</translation>
    </message>
    <message>
        <source>undone</source>
        <translation>rückgängig gemacht</translation>
    </message>
    <message>
        <source>you</source>
        <translation>Sie</translation>
    </message>
    <message>
        <source>{0}, folded. Press Enter to show them</source>
        <translation>{0}, eingeklappt. Enter zeigt sie</translation>
    </message>
</context>
<context>
    <name>DifferenceDialog</name>
    <message>
        <source>Close</source>
        <translation>Schließen</translation>
    </message>
    <message>
        <source>Differences between the file on disk and yours</source>
        <translation>Unterschiede zwischen der Datei auf der Platte und Ihrer</translation>
    </message>
</context>
<context>
    <name>DoneBar</name>
    <message>
        <source>Close</source>
        <translation>Schließen</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>Rückgängig machen</translation>
    </message>
</context>
<context>
    <name>DoneStep</name>
    <message>
        <source>Another one can be chosen below the message field at any time.</source>
        <translation>Ein anderes lässt sich jederzeit unter dem Eingabefeld wählen.</translation>
    </message>
    <message>
        <source>Begin</source>
        <translation>Beginnen</translation>
    </message>
    <message>
        <source>Connected with {0}</source>
        <translation>Verbunden mit {0}</translation>
    </message>
    <message numerus="yes">
        <source>It has %n models. New conversations begin with the one that you choose here.</source>
        <translation>
            <numerusform>Es gibt ein Modell. Neue Unterhaltungen beginnen mit dem, das Sie hier wählen.</numerusform>
            <numerusform>Es gibt %n Modelle. Neue Unterhaltungen beginnen mit dem, das Sie hier wählen.</numerusform>
        </translation>
    </message>
    <message>
        <source>Model</source>
        <translation>Modell</translation>
    </message>
</context>
<context>
    <name>EarlyMessage</name>
    <message>
        <source>It is sent automatically once loading is done, unless you change it.</source>
        <translation>Sie wird nach dem Laden automatisch gesendet, wenn Sie sie nicht ändern.</translation>
    </message>
    <message>
        <source>It stays in the field. Choose a folder, then send it.</source>
        <translation>Sie bleibt im Feld. Wählen Sie einen Ordner und senden Sie sie dann.</translation>
    </message>
    <message>
        <source>It stays in the message field. Open the right conversation, then send it.</source>
        <translation>Sie bleibt im Eingabefeld. Öffnen Sie die richtige Unterhaltung, und senden Sie sie dann.</translation>
    </message>
    <message>
        <source>Your message is not sent yet: the window is still loading.</source>
        <translation>Ihre Nachricht ist noch nicht gesendet: Das Fenster lädt noch.</translation>
    </message>
    <message>
        <source>Your message is not sent: no folder is open.</source>
        <translation>Ihre Nachricht ist nicht gesendet: Es ist kein Ordner geöffnet.</translation>
    </message>
    <message>
        <source>Your message is not sent: you chose something else meanwhile.</source>
        <translation>Ihre Nachricht ist nicht gesendet: Sie haben inzwischen etwas anderes gewählt.</translation>
    </message>
</context>
<context>
    <name>EffortChoice</name>
    <message>
        <source>The model decides</source>
        <translation>So viel, wie das Modell für richtig hält</translation>
    </message>
    <message>
        <source>Effort</source>
        <translation>Denkaufwand</translation>
    </message>
    <message>
        <source>default</source>
        <translation>Standard</translation>
    </message>
    <message>
        <source>{0} effort</source>
        <translation>Denkaufwand {0}</translation>
    </message>
</context>
<context>
    <name>EmptyPage</name>
    <message>
        <source>Every file that the agent creates, edits or deletes appears here, ready to be undone.</source>
        <translation>Hier erscheint jede Datei, die der Agent erstellt, bearbeitet oder löscht, bereit zum Rückgängigmachen.</translation>
    </message>
    <message>
        <source>No changes yet</source>
        <translation>Noch keine Änderungen</translation>
    </message>
    <message>
        <source>Reading the changes…</source>
        <translation>Die Änderungen werden gelesen …</translation>
    </message>
    <message>
        <source>Review uncommitted changes</source>
        <translation>Nicht committete Änderungen prüfen</translation>
    </message>
    <message>
        <source>The changes could not be read</source>
        <translation>Die Änderungen konnten nicht gelesen werden</translation>
    </message>
</context>
<context>
    <name>EmptyState</name>
    <message>
        <source>A project with a bug</source>
        <translation>Ein Projekt mit einem Fehler</translation>
    </message>
    <message>
        <source>Ask a question about this folder, or ask for a change. You see every step and can undo it.</source>
        <translation>Fragen Sie etwas zu diesem Ordner, oder bitten Sie um eine Änderung. Sie sehen jeden Schritt und können ihn rückgängig machen.</translation>
    </message>
    <message>
        <source>Explain how this project is put together</source>
        <translation>Erkläre, wie dieses Projekt aufgebaut ist</translation>
    </message>
    <message>
        <source>Find a bug and fix it, with a test</source>
        <translation>Finde einen Fehler und behebe ihn, mit einem Test</translation>
    </message>
    <message>
        <source>Send the message below: a scripted model finds the bug and fixes it. The tools, the changes and the undo are real.</source>
        <translation>Senden Sie die Nachricht unten: Ein Modell nach Drehbuch findet den Fehler und behebt ihn. Werkzeuge, Änderungen und das Rückgängigmachen sind echt.</translation>
    </message>
    <message>
        <source>What shall we work on?</source>
        <translation>Woran wollen wir arbeiten?</translation>
    </message>
    <message>
        <source>Write a README for this folder</source>
        <translation>Schreibe ein README für diesen Ordner</translation>
    </message>
</context>
<context>
    <name>Examples</name>
    <message>
        <source>Add a test for an empty list, and note the fix in the changelog.</source>
        <translation>Ergänze einen Test für eine leere Liste, und notiere die Korrektur im Changelog.</translation>
    </message>
    <message>
        <source>Find code that nothing uses.</source>
        <translation>Finde Code, den nichts verwendet.</translation>
    </message>
    <message>
        <source>One of the tests fails. Find out why, fix it, and run the tests again.</source>
        <translation>Einer der Tests schlägt fehl. Finde heraus, warum, behebe es, und führe die Tests noch einmal aus.</translation>
    </message>
    <message>
        <source>Run the tests and fix what fails.</source>
        <translation>Führe die Tests aus, und behebe, was fehlschlägt.</translation>
    </message>
    <message>
        <source>What does this project do?</source>
        <translation>Was macht dieses Projekt?</translation>
    </message>
</context>
<context>
    <name>ExtensionCard</name>
    <message>
        <source>About how many tokens its text takes once it is read</source>
        <translation>Ungefähr so viele Tokens, wie sein Text einnimmt, sobald er gelesen ist</translation>
    </message>
    <message>
        <source>It cannot be used: {0}.</source>
        <translation>Er kann nicht verwendet werden: {0}.</translation>
    </message>
    <message>
        <source>It is not used: {0}.</source>
        <translation>Er wird nicht verwendet: {0}.</translation>
    </message>
    <message>
        <source>It waits until you trust the project.</source>
        <translation>Er wartet, bis Sie dem Projekt vertrauen.</translation>
    </message>
    <message>
        <source>It or its script has changed since your answer, so it waits.</source>
        <translation>Er oder sein Skript hat sich seit Ihrer Antwort geändert, daher wartet er.</translation>
    </message>
    <message>
        <source>It does not run. {0}</source>
        <translation>Er läuft nicht. {0}</translation>
    </message>
    <message>
        <source>It waits for your answer about its plugin.</source>
        <translation>Er wartet auf Ihre Antwort zu seinem Plugin.</translation>
    </message>
    <message>
        <source>Only the model uses it.</source>
        <translation>Nur das Modell verwendet ihn.</translation>
    </message>
    <message>
        <source>Run the hook {0}</source>
        <translation>Den Hook {0} ausführen</translation>
    </message>
    <message>
        <source>The model does not see it; you call it by its name.</source>
        <translation>Das Modell sieht ihn nicht; Sie rufen ihn mit seinem Namen auf.</translation>
    </message>
    <message>
        <source>Use the language server {0}</source>
        <translation>Den Language-Server {0} verwenden</translation>
    </message>
    <message>
        <source>Use the skill {0}</source>
        <translation>Den Skill {0} verwenden</translation>
    </message>
    <message>
        <source>{0} tokens</source>
        <translation>{0} Tokens</translation>
    </message>
</context>
<context>
    <name>ExtensionsPage</name>
    <message>
        <source>Commands that run at certain events of a session, such as before a call: yours, and the project&apos;s once you trust them. They run as you do, outside the sandbox.</source>
        <translation>Befehle, die zu bestimmten Zeitpunkten einer Sitzung laufen, etwa vor einem Aufruf: Ihre eigenen und, sobald Sie ihnen vertrauen, die des Projekts. Sie laufen mit Ihren Rechten, außerhalb der Sandbox.</translation>
    </message>
    <message>
        <source>Instructions for particular tasks, from the folders of all agents. The model sees their names and purposes, and reads a skill when it fits the task. You call one with a slash and its name.</source>
        <translation>Anleitungen für bestimmte Aufgaben, aus den Ordnern aller Agenten. Das Modell sieht ihre Namen und Zwecke und liest einen Skill, wenn er zur Aufgabe passt. Sie rufen einen mit einem Schrägstrich und seinem Namen auf.</translation>
    </message>
    <message>
        <source>Supported, but not installed: {0}.</source>
        <translation>Unterstützt, aber nicht installiert: {0}.</translation>
    </message>
    <message>
        <source>Programs that find errors in code. They check the files that a call changed; the model reads what is new, and the review marks it. They run in the sandbox.</source>
        <translation>Programme, die Fehler im Code finden. Sie prüfen die Dateien, die ein Aufruf geändert hat; das Modell liest, was neu ist, und die Prüfung markiert es. Sie laufen in der Sandbox.</translation>
    </message>
    <message>
        <source>Their list takes about {0} tokens of each request.</source>
        <translation>Ihre Liste nimmt etwa {0} Tokens jeder Anfrage ein.</translation>
    </message>
    <message>
        <source>There are no hooks. Define yours in the settings file, in tables [[hooks.definitions]]; a project&apos;s are in files such as .claude/settings.json.</source>
        <translation>Es gibt keine Hooks. Definieren Sie Ihre in der Einstellungsdatei, in Tabellen [[hooks.definitions]]; die eines Projekts stehen in Dateien wie .claude/settings.json.</translation>
    </message>
    <message>
        <source>There are no language servers. Install a supported one, or define your own in the settings file, in a table [[diagnostics.definitions]].</source>
        <translation>Es gibt keine Language-Server. Installieren Sie einen unterstützten, oder definieren Sie einen eigenen in der Einstellungsdatei, in einer Tabelle [[diagnostics.definitions]].</translation>
    </message>
    <message>
        <source>There are no skills. A skill is a folder with a file SKILL.md, such as .agents/skills/release/SKILL.md, in this folder or in your home folder.</source>
        <translation>Es gibt keine Skills. Ein Skill ist ein Ordner mit einer Datei SKILL.md, etwa .agents/skills/release/SKILL.md, in diesem Ordner oder in Ihrem Home-Ordner.</translation>
    </message>
</context>
<context>
    <name>FenceButtons</name>
    <message>
        <source>Apply code to a file</source>
        <translation>Code auf eine Datei anwenden</translation>
    </message>
    <message>
        <source>Apply…</source>
        <translation>Anwenden …</translation>
    </message>
    <message>
        <source>Copied</source>
        <translation>Kopiert</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>Kopieren</translation>
    </message>
    <message>
        <source>Copy code</source>
        <translation>Code kopieren</translation>
    </message>
</context>
<context>
    <name>FenceLabel</name>
    <message>
        <source>{0}: diagram, shown as source</source>
        <translation>{0}: Diagramm, als Quelltext</translation>
    </message>
    <message>
        <source>{0}: formula, shown as source</source>
        <translation>{0}: Formel, als Quelltext</translation>
    </message>
</context>
<context>
    <name>FileBar</name>
    <message numerus="yes">
        <source>%n changes</source>
        <translation>
            <numerusform>%n Änderung</numerusform>
            <numerusform>%n Änderungen</numerusform>
        </translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Decide later</source>
        <translation>Später entscheiden</translation>
    </message>
    <message>
        <source>Discard</source>
        <translation>Verwerfen</translation>
    </message>
    <message>
        <source>Edit</source>
        <translation>Bearbeiten</translation>
    </message>
    <message>
        <source>Edit the file here</source>
        <translation>Datei hier bearbeiten</translation>
    </message>
    <message>
        <source>Keep editing</source>
        <translation>Weiter bearbeiten</translation>
    </message>
    <message>
        <source>Show the old and the new lines in two columns</source>
        <translation>Alte und neue Zeilen in zwei Spalten zeigen</translation>
    </message>
    <message>
        <source>This diff is too large to wrap its lines</source>
        <translation>Dieser Diff ist zu groß, um seine Zeilen umzubrechen</translation>
    </message>
    <message>
        <source>Whole window</source>
        <translation>Ganzes Fenster</translation>
    </message>
    <message>
        <source>Wrap lines</source>
        <translation>Umbrechen</translation>
    </message>
    <message>
        <source>Keep</source>
        <translation>Behalten</translation>
    </message>
    <message>
        <source>Bring back</source>
        <translation>Zurückholen</translation>
    </message>
    <message>
        <source>Keep this file</source>
        <translation>Diese Datei behalten</translation>
    </message>
    <message>
        <source>Redo</source>
        <translation>Wiederherstellen</translation>
    </message>
    <message>
        <source>Redo this change</source>
        <translation>Diese Änderung wiederherstellen</translation>
    </message>
    <message>
        <source>Save</source>
        <translation>Speichern</translation>
    </message>
    <message>
        <source>Show only the review (Esc shows everything again)</source>
        <translation>Nur die Prüfung anzeigen (Esc zeigt wieder alles)</translation>
    </message>
    <message>
        <source>Show the call behind this change</source>
        <translation>Den Aufruf hinter dieser Änderung anzeigen</translation>
    </message>
    <message>
        <source>Show the call: {0}</source>
        <translation>Aufruf anzeigen: {0}</translation>
    </message>
    <message>
        <source>Side by side</source>
        <translation>Nebeneinander</translation>
    </message>
    <message>
        <source>Stop editing (Esc)</source>
        <translation>Bearbeiten beenden (Esc)</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>Rückgängig machen</translation>
    </message>
    <message>
        <source>Undo this file</source>
        <translation>Diese Datei rückgängig machen</translation>
    </message>
    <message>
        <source>Wrap long lines instead of scrolling sideways</source>
        <translation>Lange Zeilen umbrechen, statt seitwärts zu scrollen</translation>
    </message>
    <message>
        <source>Write the file (Ctrl+S)</source>
        <translation>Datei schreiben (Strg+S)</translation>
    </message>
    <message>
        <source>{0} committed</source>
        <translation>{0} committet</translation>
    </message>
    <message>
        <source>{0} kept</source>
        <translation>{0} behalten</translation>
    </message>
    <message>
        <source>{0} not brought back</source>
        <translation>{0} nicht zurückgeholt</translation>
    </message>
    <message>
        <source>{0} undone</source>
        <translation>{0} rückgängig gemacht</translation>
    </message>
    <message>
        <source>✓ Kept</source>
        <translation>✓ Behalten</translation>
    </message>
</context>
<context>
    <name>FileChanging</name>
    <message>
        <source>{0} was deleted.</source>
        <translation>{0} wurde gelöscht.</translation>
    </message>
    <message>
        <source>{0} was renamed to {1}.</source>
        <translation>{0} wurde in {1} umbenannt.</translation>
    </message>
</context>
<context>
    <name>FileDecisions</name>
    <message>
        <source>Undo {0}</source>
        <translation>{0} rückgängig machen</translation>
    </message>
    <message>
        <source>You changed this yourself</source>
        <translation>Sie haben dies selbst geändert</translation>
    </message>
    <message>
        <source>turn {0} · {1}</source>
        <translation>Runde {0} · {1}</translation>
    </message>
</context>
<context>
    <name>FileEditing</name>
    <message>
        <source>A character does not fit the file&apos;s encoding.</source>
        <translation>Ein Zeichen passt nicht in die Kodierung der Datei.</translation>
    </message>
    <message>
        <source>Discard your edits?</source>
        <translation>Ihre Bearbeitung verwerfen?</translation>
    </message>
    <message>
        <source>Only text can be edited here</source>
        <translation>Nur Text kann hier bearbeitet werden</translation>
    </message>
    <message>
        <source>Saving…</source>
        <translation>Wird gespeichert …</translation>
    </message>
    <message>
        <source>Text of {0}</source>
        <translation>Text von {0}</translation>
    </message>
    <message>
        <source>The file has changed meanwhile. Copy what you need, then cancel.</source>
        <translation>Die Datei hat sich inzwischen geändert. Kopieren Sie, was Sie brauchen, und brechen Sie dann ab.</translation>
    </message>
    <message>
        <source>The file has changed since it was shown</source>
        <translation>Die Datei hat sich geändert, seit sie angezeigt wurde</translation>
    </message>
    <message>
        <source>The file is being loaded</source>
        <translation>Die Datei wird geladen</translation>
    </message>
    <message>
        <source>There is no file to edit</source>
        <translation>Es gibt keine Datei zu bearbeiten</translation>
    </message>
    <message>
        <source>Too large to edit here</source>
        <translation>Zu groß, um hier bearbeitet zu werden</translation>
    </message>
</context>
<context>
    <name>FileSaving</name>
    <message>
        <source>Some of these changes are undone. To edit the file as it is on disk, review uncommitted changes</source>
        <translation>Einige dieser Änderungen sind rückgängig gemacht. Um die Datei zu bearbeiten, wie sie auf der Platte ist, prüfen Sie nicht committete Änderungen</translation>
    </message>
    <message>
        <source>The file has changed since. Review uncommitted changes to edit it as it is</source>
        <translation>Die Datei hat sich seither geändert. Prüfen Sie nicht committete Änderungen, um sie zu bearbeiten, wie sie ist</translation>
    </message>
    <message>
        <source>There is no file to edit</source>
        <translation>Es gibt keine Datei zu bearbeiten</translation>
    </message>
</context>
<context>
    <name>FileTabs</name>
    <message>
        <source>Close (Ctrl+W)</source>
        <translation>Schließen (Strg+W)</translation>
    </message>
    <message>
        <source>Close {0}</source>
        <translation>{0} schließen</translation>
    </message>
    <message>
        <source>Review</source>
        <translation>Prüfung</translation>
    </message>
    <message>
        <source>Review and open files</source>
        <translation>Prüfung und geöffnete Dateien</translation>
    </message>
    <message>
        <source>{0}, not saved</source>
        <translation>{0}, nicht gespeichert</translation>
    </message>
</context>
<context>
    <name>FileTree</name>
    <message>
        <source>Choose a folder to see its files.</source>
        <translation>Wählen Sie einen Ordner, um seine Dateien zu sehen.</translation>
    </message>
    <message>
        <source>Files</source>
        <translation>Dateien</translation>
    </message>
    <message>
        <source>Filter files</source>
        <translation>Dateien filtern</translation>
    </message>
    <message>
        <source>No file matches.</source>
        <translation>Keine Datei passt.</translation>
    </message>
    <message>
        <source>No marks: git is not installed.</source>
        <translation>Keine Markierungen: git ist nicht installiert.</translation>
    </message>
    <message>
        <source>No marks: git says “{0}”</source>
        <translation>Keine Markierungen: git sagt „{0}“</translation>
    </message>
    <message>
        <source>No marks: git took too long.</source>
        <translation>Keine Markierungen: git brauchte zu lange.</translation>
    </message>
    <message>
        <source>No marks: this folder&apos;s git repository was replaced by another one.</source>
        <translation>Keine Markierungen: Das git-Repository dieses Ordners wurde durch ein anderes ersetzt.</translation>
    </message>
    <message>
        <source>This folder cannot be read: {0}</source>
        <translation>Dieser Ordner kann nicht gelesen werden: {0}</translation>
    </message>
    <message>
        <source>This folder is empty.</source>
        <translation>Dieser Ordner ist leer.</translation>
    </message>
    <message>
        <source>added</source>
        <translation>hinzugefügt</translation>
    </message>
    <message>
        <source>changed by the agent</source>
        <translation>vom Agenten geändert</translation>
    </message>
    <message>
        <source>contains changes</source>
        <translation>enthält Änderungen</translation>
    </message>
    <message>
        <source>contains merge conflicts</source>
        <translation>enthält Merge-Konflikte</translation>
    </message>
    <message>
        <source>contains new files</source>
        <translation>enthält neue Dateien</translation>
    </message>
    <message>
        <source>deleted</source>
        <translation>gelöscht</translation>
    </message>
    <message>
        <source>has merge conflicts</source>
        <translation>hat Merge-Konflikte</translation>
    </message>
    <message>
        <source>ignored by git</source>
        <translation>von git ignoriert</translation>
    </message>
    <message>
        <source>modified</source>
        <translation>geändert</translation>
    </message>
    <message>
        <source>new, not in git yet</source>
        <translation>neu, noch nicht in git</translation>
    </message>
    <message>
        <source>renamed from {0}</source>
        <translation>umbenannt von {0}</translation>
    </message>
    <message>
        <source>{0} of {1} files</source>
        <translation>{0} von {1} Dateien</translation>
    </message>
</context>
<context>
    <name>FileTreeModel</name>
    <message>
        <source>folder, closed</source>
        <translation>Ordner, geschlossen</translation>
    </message>
    <message>
        <source>folder, open</source>
        <translation>Ordner, geöffnet</translation>
    </message>
    <message>
        <source>link</source>
        <translation>Verknüpfung</translation>
    </message>
</context>
<context>
    <name>FileTurns</name>
    <message>
        <source>Before the first message</source>
        <translation>Vor der ersten Nachricht</translation>
    </message>
    <message>
        <source>Turn {0}</source>
        <translation>Runde {0}</translation>
    </message>
    <message>
        <source>undone</source>
        <translation>rückgängig gemacht</translation>
    </message>
    <message>
        <source>you</source>
        <translation>Sie</translation>
    </message>
</context>
<context>
    <name>FileWriting</name>
    <message>
        <source>Another folder is open now. Open {0} first.</source>
        <translation>Jetzt ist ein anderer Ordner geöffnet. Öffnen Sie zuerst {0}.</translation>
    </message>
    <message>
        <source>The conversation did not answer, so it is not known whether that was done.</source>
        <translation>Die Unterhaltung hat nicht geantwortet; ob es geschehen ist, ist daher nicht bekannt.</translation>
    </message>
</context>
<context>
    <name>FilterButton</name>
    <message>
        <source>A server, or me</source>
        <translation>Ein Server oder ich</translation>
    </message>
    <message>
        <source>Agent</source>
        <translation>Agent</translation>
    </message>
    <message>
        <source>Everyone</source>
        <translation>Alle</translation>
    </message>
    <message>
        <source>Files listed: {0}</source>
        <translation>Aufgelistete Dateien: {0}</translation>
    </message>
    <message>
        <source>Filter by path…</source>
        <translation>Nach Pfad filtern …</translation>
    </message>
    <message>
        <source>In any state</source>
        <translation>In jedem Zustand</translation>
    </message>
    <message>
        <source>In conflict</source>
        <translation>Im Konflikt</translation>
    </message>
    <message>
        <source>Kept</source>
        <translation>Behalten</translation>
    </message>
    <message>
        <source>MCP</source>
        <translation>MCP</translation>
    </message>
    <message>
        <source>Me</source>
        <translation>Ich</translation>
    </message>
    <message>
        <source>Shell</source>
        <translation>Shell</translation>
    </message>
    <message>
        <source>Undecided</source>
        <translation>Unentschieden</translation>
    </message>
    <message>
        <source>Undone</source>
        <translation>Rückgängig gemacht</translation>
    </message>
</context>
<context>
    <name>FindBar</name>
    <message>
        <source>Close</source>
        <translation>Schließen</translation>
    </message>
    <message>
        <source>Looking…</source>
        <translation>Sucht …</translation>
    </message>
    <message>
        <source>Next match</source>
        <translation>Nächster Treffer</translation>
    </message>
    <message>
        <source>Nothing found</source>
        <translation>Nichts gefunden</translation>
    </message>
    <message>
        <source>Previous match</source>
        <translation>Vorheriger Treffer</translation>
    </message>
    <message>
        <source>{0} of {1}</source>
        <translation>{0} von {1}</translation>
    </message>
    <message>
        <source>{0} of {1}+</source>
        <translation>{0} von {1}+</translation>
    </message>
</context>
<context>
    <name>Flaw</name>
    <message>
        <source>a complete message in place of stream chunks</source>
        <translation>eine ganze Nachricht in einem Datenstrom</translation>
    </message>
    <message>
        <source>a tool call whose ID changed</source>
        <translation>eine Kennung, die sich innerhalb eines Aufrufs änderte</translation>
    </message>
    <message>
        <source>an answer that was not streamed</source>
        <translation>eine Antwort, die nicht als Datenstrom kam</translation>
    </message>
    <message>
        <source>an answer without the events that end it</source>
        <translation>eine Antwort ohne die Ereignisse, die sie beenden</translation>
    </message>
    <message>
        <source>arguments encoded twice</source>
        <translation>doppelt kodierte Argumente</translation>
    </message>
    <message>
        <source>bytes that are not UTF-8</source>
        <translation>Bytes, die kein UTF-8 sind</translation>
    </message>
    <message>
        <source>tool calls with the wrong finish reason</source>
        <translation>Aufrufe mit einem anderen Grund für das Ende der Antwort</translation>
    </message>
    <message>
        <source>tool calls written as text</source>
        <translation>als Text geschriebene Aufrufe</translation>
    </message>
    <message>
        <source>unescaped line breaks in arguments</source>
        <translation>nicht maskierte Zeilenumbrüche in Argumenten</translation>
    </message>
    <message>
        <source>an answer without a finish reason</source>
        <translation>kein Grund für das Ende einer Antwort</translation>
    </message>
    <message>
        <source>several tool calls under one number</source>
        <translation>mehrere Aufrufe unter derselben Nummer</translation>
    </message>
    <message>
        <source>thinking written into the answer</source>
        <translation>in die Antwort geschriebene Gedanken</translation>
    </message>
</context>
<context>
    <name>FoldBar</name>
    <message numerus="yes">
        <source>%n more lines</source>
        <translation>
            <numerusform>noch %n Zeile</numerusform>
            <numerusform>noch %n Zeilen</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>1 line continues for another %n characters</source>
        <translation>
            <numerusform>1 Zeile geht noch %n Zeichen weiter</numerusform>
            <numerusform>1 Zeile geht noch %n Zeichen weiter</numerusform>
        </translation>
    </message>
    <message>
        <source>Scroll through all of it to enable Allow</source>
        <translation>Alles durchblättern, um Erlauben freizugeben</translation>
    </message>
    <message>
        <source>Show more</source>
        <translation>Mehr anzeigen</translation>
    </message>
    <message>
        <source>This is too long to be shown whole, so it can only be denied</source>
        <translation>Das ist zu lang, um ganz gezeigt zu werden, und kann deshalb nur abgelehnt werden</translation>
    </message>
    <message>
        <source>You have seen all of it</source>
        <translation>Sie haben alles gesehen</translation>
    </message>
</context>
<context>
    <name>FormRow</name>
    <message>
        <source>Choose…</source>
        <translation>Wählen …</translation>
    </message>
    <message>
        <source>{label} (optional)</source>
        <translation>{label} (optional)</translation>
    </message>
</context>
<context>
    <name>FoundList</name>
    <message>
        <source>Search results</source>
        <translation>Suchergebnisse</translation>
    </message>
</context>
<context>
    <name>FoundModel</name>
    <message>
        <source>Agent</source>
        <translation>Agent</translation>
    </message>
    <message>
        <source>Change</source>
        <translation>Änderung</translation>
    </message>
    <message>
        <source>Command</source>
        <translation>Befehl</translation>
    </message>
    <message>
        <source>Output</source>
        <translation>Ausgabe</translation>
    </message>
    <message>
        <source>Session without a title</source>
        <translation>Sitzung ohne Titel</translation>
    </message>
    <message>
        <source>Title</source>
        <translation>Titel</translation>
    </message>
    <message>
        <source>You</source>
        <translation>Sie</translation>
    </message>
</context>
<context>
    <name>HoldBanner</name>
    <message>
        <source>Nothing runs: settings that your safety depends on cannot be read.</source>
        <translation>Nichts läuft: Einstellungen, von denen Ihre Sicherheit abhängt, sind nicht lesbar.</translation>
    </message>
    <message>
        <source>Open the file</source>
        <translation>Datei öffnen</translation>
    </message>
    <message>
        <source>Use defaults anyway</source>
        <translation>Trotzdem Vorgaben verwenden</translation>
    </message>
    <message>
        <source>Valid settings apply. Defaults replace the others until you fix the file.</source>
        <translation>Gültige Einstellungen gelten. Für die anderen gelten Vorgaben, bis Sie die Datei berichtigen.</translation>
    </message>
    <message>
        <source>Work continues when you fix the file.</source>
        <translation>Es geht weiter, wenn Sie die Datei berichtigen.</translation>
    </message>
</context>
<context>
    <name>HunkActions</name>
    <message>
        <source>Comment</source>
        <translation>Kommentieren</translation>
    </message>
    <message>
        <source>Comment on {0}</source>
        <translation>{0} kommentieren</translation>
    </message>
    <message>
        <source>Keep</source>
        <translation>Behalten</translation>
    </message>
    <message>
        <source>Keep {0}</source>
        <translation>{0} behalten</translation>
    </message>
    <message>
        <source>Kept: {0}</source>
        <translation>Behalten: {0}</translation>
    </message>
    <message>
        <source>Decide later</source>
        <translation>Später entscheiden</translation>
    </message>
    <message>
        <source>Bring back</source>
        <translation>Zurückholen</translation>
    </message>
    <message>
        <source>Bring back {0}</source>
        <translation>{0} zurückholen</translation>
    </message>
    <message>
        <source>Bring this change back</source>
        <translation>Diese Änderung zurückholen</translation>
    </message>
    <message>
        <source>Keep this change</source>
        <translation>Diese Änderung behalten</translation>
    </message>
    <message>
        <source>Redo</source>
        <translation>Wiederherstellen</translation>
    </message>
    <message>
        <source>Redo this change</source>
        <translation>Diese Änderung wiederherstellen</translation>
    </message>
    <message>
        <source>Redo {0}</source>
        <translation>{0} wiederherstellen</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>Rückgängig</translation>
    </message>
    <message>
        <source>Undo this change</source>
        <translation>Diese Änderung rückgängig machen</translation>
    </message>
    <message>
        <source>Write a comment on these lines</source>
        <translation>Kommentar zu diesen Zeilen schreiben</translation>
    </message>
    <message>
        <source>Undo {0}</source>
        <translation>{0} rückgängig machen</translation>
    </message>
    <message>
        <source>✓ Kept</source>
        <translation>✓ Behalten</translation>
    </message>
</context>
<context>
    <name>HunkChoice</name>
    <message>
        <source>Line endings</source>
        <translation>Zeilenenden</translation>
    </message>
    <message>
        <source>Permissions</source>
        <translation>Berechtigungen</translation>
    </message>
    <message>
        <source>left out: {0}</source>
        <translation>ausgelassen: {0}</translation>
    </message>
</context>
<context>
    <name>ImageView</name>
    <message>
        <source>After</source>
        <translation>Nachher</translation>
    </message>
    <message>
        <source>Before</source>
        <translation>Vorher</translation>
    </message>
    <message>
        <source>Blend</source>
        <translation>Überblenden</translation>
    </message>
    <message>
        <source>Deleted</source>
        <translation>Gelöscht</translation>
    </message>
    <message>
        <source>Difference</source>
        <translation>Differenz</translation>
    </message>
    <message>
        <source>Opacity of the old version</source>
        <translation>Deckkraft der alten Fassung</translation>
    </message>
    <message>
        <source>New</source>
        <translation>Neu</translation>
    </message>
    <message>
        <source>Picture before and after</source>
        <translation>Bild vorher und nachher</translation>
    </message>
    <message>
        <source>Side by side</source>
        <translation>Nebeneinander</translation>
    </message>
    <message>
        <source>Swipe</source>
        <translation>Schieber</translation>
    </message>
    <message>
        <source>Position of the divider</source>
        <translation>Position des Schiebers</translation>
    </message>
</context>
<context>
    <name>ImportedAlreadyQuestion</name>
    <message>
        <source>Import a conversation</source>
        <translation>Unterhaltung importieren</translation>
    </message>
    <message>
        <source>Import again</source>
        <translation>Erneut importieren</translation>
    </message>
    <message>
        <source>Importing it again makes a second session; the first one stays.</source>
        <translation>Erneutes Importieren legt eine zweite Sitzung an; die erste bleibt.</translation>
    </message>
    <message>
        <source>Open it</source>
        <translation>Öffnen</translation>
    </message>
    <message>
        <source>This conversation was imported already.</source>
        <translation>Diese Unterhaltung wurde schon importiert.</translation>
    </message>
</context>
<context>
    <name>Inbox</name>
    <message numerus="yes">
        <source>%n questions waiting</source>
        <translation>
            <numerusform>%n Frage wartet</numerusform>
            <numerusform>%n Fragen warten</numerusform>
        </translation>
    </message>
    <message>
        <source>A spending limit is reached</source>
        <translation>Ein Ausgabenlimit ist erreicht</translation>
    </message>
    <message>
        <source>A server has a question</source>
        <translation>Ein Server hat eine Frage</translation>
    </message>
    <message>
        <source>A hook ended the turn</source>
        <translation>Ein Hook hat die Runde beendet</translation>
    </message>
    <message>
        <source>A server wants to ask the model</source>
        <translation>Ein Server möchte das Modell fragen</translation>
    </message>
    <message>
        <source>A server wants you to visit a page</source>
        <translation>Ein Server möchte, dass Sie eine Seite besuchen</translation>
    </message>
    <message>
        <source>Allowed elsewhere: {0}</source>
        <translation>Anderswo erlaubt: {0}</translation>
    </message>
    <message>
        <source>Denied elsewhere: {0}</source>
        <translation>Anderswo abgelehnt: {0}</translation>
    </message>
    <message>
        <source>New session</source>
        <translation>Neue Sitzung</translation>
    </message>
    <message>
        <source>No longer waiting: {0}</source>
        <translation>Wartet nicht mehr: {0}</translation>
    </message>
    <message>
        <source>Open in another window; answer it there: {0}</source>
        <translation>In einem anderen Fenster offen; bitte dort beantworten: {0}</translation>
    </message>
    <message>
        <source>The agent has finished</source>
        <translation>Der Agent ist fertig</translation>
    </message>
    <message>
        <source>The model refused</source>
        <translation>Das Modell hat verweigert</translation>
    </message>
    <message>
        <source>The session is open in another window. Answer the question there</source>
        <translation>Die Sitzung ist in einem anderen Fenster offen. Beantworten Sie die Frage dort</translation>
    </message>
    <message>
        <source>The turn ended at a limit</source>
        <translation>Die Runde endete an einem Limit</translation>
    </message>
    <message>
        <source>The turn failed</source>
        <translation>Die Runde ist fehlgeschlagen</translation>
    </message>
    <message>
        <source>The turn was stopped</source>
        <translation>Die Runde wurde angehalten</translation>
    </message>
    <message>
        <source>Wants to change files</source>
        <translation>Möchte Dateien ändern</translation>
    </message>
    <message>
        <source>Wants to run a command</source>
        <translation>Möchte einen Befehl ausführen</translation>
    </message>
    <message>
        <source>Wants to run a command outside the sandbox</source>
        <translation>Möchte einen Befehl außerhalb der Sandbox ausführen</translation>
    </message>
    <message>
        <source>Wants to use a tool</source>
        <translation>Möchte ein Werkzeug benutzen</translation>
    </message>
</context>
<context>
    <name>InboxButton</name>
    <message>
        <source>Inbox, nothing waiting</source>
        <translation>Eingang, nichts wartet</translation>
    </message>
    <message>
        <source>Inbox, {0} new</source>
        <translation>Eingang, {0} neu</translation>
    </message>
    <message>
        <source>Inbox, {0} waiting for you</source>
        <translation>Eingang, {0} warten auf Sie</translation>
    </message>
    <message>
        <source>Inbox, {0} waiting for you, {1} new</source>
        <translation>Eingang, {0} warten auf Sie, {1} neu</translation>
    </message>
</context>
<context>
    <name>InboxNotifier</name>
    <message>
        <source>Click here, or start Desktop Agent again, to bring its window back.</source>
        <translation>Klicken Sie hier oder starten Sie Desktop Agent erneut, um das Fenster zurückzuholen.</translation>
    </message>
    <message>
        <source>Deny</source>
        <translation>Ablehnen</translation>
    </message>
    <message>
        <source>Desktop Agent goes on in the background.</source>
        <translation>Desktop Agent arbeitet im Hintergrund weiter.</translation>
    </message>
    <message>
        <source>Show</source>
        <translation>Anzeigen</translation>
    </message>
</context>
<context>
    <name>InboxPopup</name>
    <message>
        <source>And {0} more: answer some of these first.</source>
        <translation>Und {0} weitere: Beantworten Sie zuerst einige von diesen.</translation>
    </message>
    <message>
        <source>Inbox</source>
        <translation>Eingang</translation>
    </message>
    <message>
        <source>Mark all as seen</source>
        <translation>Alle als gesehen markieren</translation>
    </message>
    <message>
        <source>Nothing is waiting for you</source>
        <translation>Nichts wartet auf Sie</translation>
    </message>
    <message>
        <source>Questions of all sessions appear here, and turns that ended while you were looking at something else.</source>
        <translation>Hier erscheinen Fragen aller Sitzungen, und Runden, die endeten, während Sie etwas anderes ansahen.</translation>
    </message>
    <message>
        <source>Waiting for you</source>
        <translation>Wartet auf Sie</translation>
    </message>
</context>
<context>
    <name>InboxRow</name>
    <message>
        <source>Answer here</source>
        <translation>Hier antworten</translation>
    </message>
    <message>
        <source>Mark as seen</source>
        <translation>Als gesehen markieren</translation>
    </message>
    <message>
        <source>Show</source>
        <translation>Anzeigen</translation>
    </message>
    <message>
        <source>{0}: {1}</source>
        <translation>{0}: {1}</translation>
    </message>
</context>
<context>
    <name>JobRow</name>
    <message>
        <source>Ends this and everything it started:
{0}</source>
        <translation>Beendet dies und alles, was es gestartet hat:
{0}</translation>
    </message>
    <message>
        <source>No output</source>
        <translation>Keine Ausgabe</translation>
    </message>
    <message>
        <source>Show its conversation</source>
        <translation>Seine Unterhaltung zeigen</translation>
    </message>
    <message>
        <source>Show output</source>
        <translation>Ausgabe anzeigen</translation>
    </message>
    <message>
        <source>Show the conversation of {0}</source>
        <translation>Unterhaltung von {0} zeigen</translation>
    </message>
    <message>
        <source>Show the output of {0}</source>
        <translation>Ausgabe von {0} anzeigen</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>Anhalten</translation>
    </message>
    <message>
        <source>Stop {0}</source>
        <translation>{0} anhalten</translation>
    </message>
    <message>
        <source>Stopping…</source>
        <translation>Wird angehalten …</translation>
    </message>
</context>
<context>
    <name>Jobs</name>
    <message numerus="yes">
        <source>%n jobs</source>
        <translation>
            <numerusform>%n Job</numerusform>
            <numerusform>%n Jobs</numerusform>
        </translation>
    </message>
    <message>
        <source>Jobs</source>
        <translation>Jobs</translation>
    </message>
    <message>
        <source>ended</source>
        <translation>beendet</translation>
    </message>
    <message>
        <source>exit code {0}</source>
        <translation>Exit-Code {0}</translation>
    </message>
    <message>
        <source>ran {0}</source>
        <translation>lief {0}</translation>
    </message>
    <message>
        <source>running</source>
        <translation>läuft</translation>
    </message>
    <message>
        <source>stopped</source>
        <translation>angehalten</translation>
    </message>
    <message>
        <source>stopped at its time limit</source>
        <translation>am Zeitlimit angehalten</translation>
    </message>
    <message>
        <source>{0} d {1} h</source>
        <translation>{0} d {1} h</translation>
    </message>
    <message>
        <source>{0} h {1} min</source>
        <translation>{0} h {1} min</translation>
    </message>
    <message>
        <source>{0} min</source>
        <translation>{0} min</translation>
    </message>
    <message>
        <source>{0} s</source>
        <translation>{0} s</translation>
    </message>
</context>
<context>
    <name>JobsPanel</name>
    <message>
        <source>Background work</source>
        <translation>Im Hintergrund</translation>
    </message>
    <message>
        <source>Hide background work</source>
        <translation>Liste der Hintergrundarbeit ausblenden</translation>
    </message>
    <message>
        <source>Hide. Background work continues.</source>
        <translation>Ausblenden. Was läuft, läuft weiter.</translation>
    </message>
    <message>
        <source>Nothing runs in the background. Commands that keep running, such as a server, and sub-agents in the background appear here once started.</source>
        <translation>Im Hintergrund läuft nichts. Befehle, die weiterlaufen, wie etwa ein Server, und Unteragenten im Hintergrund erscheinen hier nach dem Start.</translation>
    </message>
    <message>
        <source>{0} running</source>
        <translation>{0} laufen</translation>
    </message>
</context>
<context>
    <name>KeyEditor</name>
    <message>
        <source>API key</source>
        <translation>API-Schlüssel</translation>
    </message>
    <message>
        <source>Check key</source>
        <translation>Schlüssel prüfen</translation>
    </message>
    <message>
        <source>Check the server</source>
        <translation>Server prüfen</translation>
    </message>
    <message>
        <source>In use: a key for this run only. It is not saved.</source>
        <translation>In Gebrauch: ein Schlüssel nur für diesen Lauf. Er wird nirgends gespeichert.</translation>
    </message>
    <message>
        <source>In use: the key from the environment variable {0}. It takes precedence over a saved one.</source>
        <translation>In Gebrauch: der Schlüssel aus der Umgebungsvariable {0}. Er geht einem gespeicherten vor.</translation>
    </message>
    <message>
        <source>In use: the key kept in the system keyring ({0}).</source>
        <translation>In Gebrauch: der Schlüssel im Schlüsselbund des Systems ({0}).</translation>
    </message>
    <message>
        <source>No key is needed. If you save one, it is sent with each request, and kept in the system keyring.</source>
        <translation>Kein Schlüssel nötig. Wenn Sie einen speichern, wird er mit jeder Anfrage gesendet und im Schlüsselbund des Systems abgelegt.</translation>
    </message>
    <message>
        <source>Create a key at {0}</source>
        <translation>Schlüssel erhalten Sie unter {0}</translation>
    </message>
    <message>
        <source>A key that you enter here is used until you quit.</source>
        <translation>Ein Schlüssel, den Sie hier eingeben, gilt, bis Sie das Programm beenden.</translation>
    </message>
    <message>
        <source>Remove key</source>
        <translation>Schlüssel entfernen</translation>
    </message>
    <message>
        <source>Remove permanently</source>
        <translation>Endgültig entfernen</translation>
    </message>
    <message>
        <source>Save key</source>
        <translation>Schlüssel speichern</translation>
    </message>
    <message>
        <source>There is no key yet. It will be kept in the system keyring, never in a file.</source>
        <translation>Noch gibt es keinen Schlüssel. Er wird im Schlüsselbund des Systems abgelegt, nie in einer Datei.</translation>
    </message>
    <message>
        <source>Use until I quit</source>
        <translation>Bis zum Beenden nutzen</translation>
    </message>
    <message>
        <source>You pasted what looks like an API key. It was put here, and nowhere else.</source>
        <translation>Sie haben eingefügt, was wie ein API-Schlüssel aussieht. Er wurde hier eingetragen, und nirgends sonst.</translation>
    </message>
</context>
<context>
    <name>KeyList</name>
    <message>
        <source>Everywhere</source>
        <translation>Überall</translation>
    </message>
    <message>
        <source>Keys</source>
        <translation>Tasten</translation>
    </message>
    <message>
        <source>changed</source>
        <translation>geändert</translation>
    </message>
</context>
<context>
    <name>KeySearch</name>
    <message>
        <source>Or press keys here</source>
        <translation>Oder Tasten drücken</translation>
    </message>
    <message>
        <source>Search by action</source>
        <translation>Nach Aktion suchen</translation>
    </message>
    <message>
        <source>Search by pressing keys</source>
        <translation>Durch Drücken von Tasten suchen</translation>
    </message>
    <message>
        <source>Search keys by action</source>
        <translation>Tasten nach Aktion suchen</translation>
    </message>
</context>
<context>
    <name>KeyStep</name>
    <message>
        <source>API key</source>
        <translation>API-Schlüssel</translation>
    </message>
    <message>
        <source>Enter an API key</source>
        <translation>API-Schlüssel eingeben</translation>
    </message>
    <message>
        <source>Create a key at {0}</source>
        <translation>Schlüssel erhalten Sie unter {0}</translation>
    </message>
    <message>
        <source>Leave it empty to use the key in {0}.</source>
        <translation>Leer lassen, um den Schlüssel in {0} zu verwenden.</translation>
    </message>
    <message>
        <source>Provider</source>
        <translation>Anbieter</translation>
    </message>
    <message>
        <source>Test and continue</source>
        <translation>Prüfen und fortfahren</translation>
    </message>
    <message>
        <source>The key is tested with the provider, at no cost, and then kept in your system keyring.</source>
        <translation>Der Schlüssel wird kostenlos beim Anbieter geprüft und dann im Schlüsselbund Ihres Systems abgelegt.</translation>
    </message>
    <message>
        <source>The key is tested with the provider, at no cost. This system has no keyring to keep it in, so it is used until you quit.</source>
        <translation>Der Schlüssel wird kostenlos beim Anbieter geprüft. Dieses System hat keinen Schlüsselbund, der ihn aufbewahren könnte: Er gilt, bis Sie das Programm beenden.</translation>
    </message>
</context>
<context>
    <name>KeysPage</name>
    <message>
        <source>Add…</source>
        <translation>Hinzufügen …</translation>
    </message>
    <message>
        <source>Change…</source>
        <translation>Ändern …</translation>
    </message>
    <message>
        <source>Clear</source>
        <translation>Entfernen</translation>
    </message>
    <message>
        <source>No key matches.</source>
        <translation>Keine Taste passt.</translation>
    </message>
    <message>
        <source>Reset</source>
        <translation>Zurücksetzen</translation>
    </message>
    <message>
        <source>Reset all</source>
        <translation>Alle zurücksetzen</translation>
    </message>
</context>
<context>
    <name>LanguageServers</name>
    <message>
        <source>Is starting, and then checks {0}</source>
        <translation>Startet gerade und prüft dann {0}</translation>
    </message>
    <message>
        <source>Runs, and checks {0}</source>
        <translation>Läuft und prüft {0}</translation>
    </message>
    <message>
        <source>Starts when a file of these types changes: {0}</source>
        <translation>Startet, wenn sich eine Datei dieser Typen ändert: {0}</translation>
    </message>
    <message>
        <source>there is no program “{0}”</source>
        <translation>das Programm „{0}“ gibt es nicht</translation>
    </message>
    <message>
        <source>{0} does the same</source>
        <translation>{0} macht dasselbe</translation>
    </message>
</context>
<context>
    <name>Legend</name>
    <message>
        <source>Price not known</source>
        <translation>Preis nicht bekannt</translation>
    </message>
</context>
<context>
    <name>LineBar</name>
    <message>
        <source>Close</source>
        <translation>Schließen</translation>
    </message>
    <message>
        <source>Close (Esc)</source>
        <translation>Schließen (Esc)</translation>
    </message>
    <message>
        <source>Go to line</source>
        <translation>Gehe zu Zeile</translation>
    </message>
    <message>
        <source>Line to go to</source>
        <translation>Zeile, zu der gegangen wird</translation>
    </message>
    <message>
        <source>of {0}</source>
        <translation>von {0}</translation>
    </message>
</context>
<context>
    <name>LineWidget</name>
    <message>
        <source>Open it</source>
        <translation>Öffnen</translation>
    </message>
    <message>
        <source>Open the conversation this is a copy of</source>
        <translation>Die Unterhaltung öffnen, von der dies eine Kopie ist</translation>
    </message>
</context>
<context>
    <name>ListDecisions</name>
    <message>
        <source>Undo everything that is listed</source>
        <translation>Alles Aufgelistete rückgängig machen</translation>
    </message>
</context>
<context>
    <name>LiveTerminal</name>
    <message numerus="yes">
        <source>The running program acts on each of the %n pasted lines at once.</source>
        <translation>
            <numerusform>Das Programm hier nimmt jede der %n eingefügten Zeilen sofort.</numerusform>
            <numerusform>Das Programm hier nimmt jede der %n eingefügten Zeilen sofort.</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>LocalStep</name>
    <message>
        <source>Look again</source>
        <translation>Erneut suchen</translation>
    </message>
    <message>
        <source>Looking…</source>
        <translation>Sucht …</translation>
    </message>
    <message>
        <source>Servers are looked for on this machine only. They need no key.</source>
        <translation>Server werden nur auf diesem Rechner gesucht. Sie brauchen keinen Schlüssel.</translation>
    </message>
    <message>
        <source>Use a model on this machine</source>
        <translation>Ein Modell auf diesem Rechner verwenden</translation>
    </message>
    <message>
        <source>Use this server</source>
        <translation>Diesen Server verwenden</translation>
    </message>
    <message>
        <source>{0} and {1} more</source>
        <translation>{0} und {1} weitere</translation>
    </message>
</context>
<context>
    <name>LogView</name>
    <message>
        <source>Recent output of {0}</source>
        <translation>Was {0} zuletzt sagte</translation>
    </message>
</context>
<context>
    <name>MainMenu</name>
    <message>
        <source>Changes</source>
        <translation>Änderungen</translation>
    </message>
    <message>
        <source>Conversation</source>
        <translation>Unterhaltung</translation>
    </message>
    <message>
        <source>Go to</source>
        <translation>Gehe zu</translation>
    </message>
    <message>
        <source>Session</source>
        <translation>Sitzung</translation>
    </message>
    <message>
        <source>Show</source>
        <translation>Anzeigen</translation>
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
        <translation>Prüfung</translation>
    </message>
    <message>
        <source>Sessions and files</source>
        <translation>Sitzungen und Dateien</translation>
    </message>
</context>
<context>
    <name>Markdown</name>
    <message>
        <source>Picture: {0}</source>
        <translation>Bild: {0}</translation>
    </message>
</context>
<context>
    <name>MatchesBody</name>
    <message>
        <source>Show fewer</source>
        <translation>Weniger anzeigen</translation>
    </message>
</context>
<context>
    <name>Media</name>
    <message>
        <source>Not drawn: it refers to other files or runs a program</source>
        <translation>Nicht gezeichnet: Sie verweist auf andere Dateien oder führt ein Programm aus</translation>
    </message>
    <message>
        <source>Not drawn: the drawing has too many parts</source>
        <translation>Nicht gezeichnet: Die Zeichnung hat zu viele Teile</translation>
    </message>
    <message>
        <source>The picture is damaged or cut off</source>
        <translation>Das Bild ist beschädigt oder abgeschnitten</translation>
    </message>
    <message>
        <source>There is no file</source>
        <translation>Es gibt keine Datei</translation>
    </message>
    <message>
        <source>This is not a picture that can be shown here</source>
        <translation>Dies ist kein Bild, das hier angezeigt werden kann</translation>
    </message>
    <message>
        <source>Too large to show: more than {0} million pixels or 30 MB</source>
        <translation>Zu groß zum Anzeigen: mehr als {0} Millionen Pixel oder 30 MB</translation>
    </message>
    <message>
        <source>first frame</source>
        <translation>erstes Einzelbild</translation>
    </message>
    <message>
        <source>{0} bytes</source>
        <translation>{0} Bytes</translation>
    </message>
</context>
<context>
    <name>MediaStack</name>
    <message>
        <source>Notebook</source>
        <translation>Notebook</translation>
    </message>
    <message>
        <source>Picture</source>
        <translation>Bild</translation>
    </message>
    <message>
        <source>Raw JSON</source>
        <translation>Rohes JSON</translation>
    </message>
    <message>
        <source>Text</source>
        <translation>Text</translation>
    </message>
</context>
<context>
    <name>MentionFinding</name>
    <message>
        <source>Mention files</source>
        <translation>Dateien erwähnen</translation>
    </message>
</context>
<context>
    <name>MentionPopup</name>
    <message>
        <source>Mentions</source>
        <translation>Erwähnungen</translation>
    </message>
</context>
<context>
    <name>MessageEdit</name>
    <message>
        <source>Message</source>
        <translation>Nachricht</translation>
    </message>
</context>
<context>
    <name>MessageMenu</name>
    <message>
        <source>Copy</source>
        <translation>Kopieren</translation>
    </message>
    <message>
        <source>Copy link address</source>
        <translation>Linkadresse kopieren</translation>
    </message>
    <message>
        <source>Copy message</source>
        <translation>Nachricht kopieren</translation>
    </message>
    <message>
        <source>Copy path</source>
        <translation>Pfad kopieren</translation>
    </message>
    <message>
        <source>Edit and send again…</source>
        <translation>Bearbeiten und erneut senden …</translation>
    </message>
    <message>
        <source>Go back to before this…</source>
        <translation>Hiervor zurückgehen …</translation>
    </message>
    <message>
        <source>Quote in your message</source>
        <translation>In Ihrer Nachricht zitieren</translation>
    </message>
    <message>
        <source>Quote message</source>
        <translation>Nachricht zitieren</translation>
    </message>
    <message>
        <source>Select all</source>
        <translation>Alles auswählen</translation>
    </message>
</context>
<context>
    <name>ModePickers</name>
    <message>
        <source>A scripted model; no key and no network</source>
        <translation>Ein Modell nach Drehbuch; kein Schlüssel und kein Netz</translation>
    </message>
    <message>
        <source>Approvals</source>
        <translation>Freigaben</translation>
    </message>
    <message>
        <source>Demo model</source>
        <translation>Demo-Modell</translation>
    </message>
    <message>
        <source>Effort</source>
        <translation>Denkaufwand</translation>
    </message>
    <message>
        <source>Effort: {0}</source>
        <translation>Denkaufwand: {0}</translation>
    </message>
    <message>
        <source>How much the model thinks before it answers</source>
        <translation>Wie viel das Modell nachdenkt, bevor es antwortet</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>Modell</translation>
    </message>
    <message>
        <source>No sandbox here</source>
        <translation>Keine Sandbox hier</translation>
    </message>
    <message>
        <source>Sandbox</source>
        <translation>Sandbox</translation>
    </message>
    <message>
        <source>Sandbox not available</source>
        <translation>Sandbox nicht verfügbar</translation>
    </message>
    <message>
        <source>The model decides</source>
        <translation>Das Modell entscheidet</translation>
    </message>
    <message>
        <source>default</source>
        <translation>Standard</translation>
    </message>
    <message>
        <source>{0} by {1}</source>
        <translation>{0} von {1}</translation>
    </message>
    <message>
        <source>{0}, an agent of another program</source>
        <translation>{0}, ein Agent eines anderen Programms</translation>
    </message>
    <message>
        <source>{0}, {1} effort</source>
        <translation>{0}, Denkaufwand {1}</translation>
    </message>
</context>
<context>
    <name>ModelList</name>
    <message>
        <source>Models</source>
        <translation>Modelle</translation>
    </message>
</context>
<context>
    <name>ModelPage</name>
    <message>
        <source>Account</source>
        <translation>Konto</translation>
    </message>
    <message>
        <source>Add a key to choose its models in any conversation. New conversations begin with {0}.</source>
        <translation>Fügen Sie einen Schlüssel hinzu, um seine Modelle in jeder Unterhaltung wählen zu können. Neue Unterhaltungen beginnen mit {0}.</translation>
    </message>
    <message>
        <source>Address</source>
        <translation>Adresse</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>Modell</translation>
    </message>
    <message>
        <source>Model name used by the server</source>
        <translation>Modellname auf dem Server</translation>
    </message>
    <message>
        <source>Provider</source>
        <translation>Anbieter</translation>
    </message>
    <message>
        <source>Set by the environment: {0}.</source>
        <translation>Von der Umgebung gesetzt: {0}.</translation>
    </message>
    <message>
        <source>The demo follows a script. It needs no key, no network and no address.</source>
        <translation>Die Demo folgt einem Drehbuch. Sie braucht keinen Schlüssel, kein Netz und keine Adresse.</translation>
    </message>
    <message>
        <source>{0} takes the turns of new conversations. Another agent is chosen below the message field.</source>
        <translation>{0} führt die Runden neuer Gespräche aus. Ein anderer Agent wird unter dem Nachrichtenfeld gewählt.</translation>
    </message>
</context>
<context>
    <name>ModelPopup</name>
    <message>
        <source>Choose a model</source>
        <translation>Modell wählen</translation>
    </message>
    <message>
        <source>Search models</source>
        <translation>Modelle suchen</translation>
    </message>
    <message>
        <source>Search models, or type the name of another one</source>
        <translation>Modelle suchen, oder den Namen eines anderen eingeben</translation>
    </message>
    <message>
        <source>the agent decides</source>
        <translation>der Agent entscheidet</translation>
    </message>
    <message>
        <source>the model decides</source>
        <translation>so viel, wie das Modell für richtig hält</translation>
    </message>
    <message>
        <source>{0} marks a favourite</source>
        <translation>{0} merkt einen Favoriten</translation>
    </message>
</context>
<context>
    <name>ModelRows</name>
    <message>
        <source>Favourite</source>
        <translation>Favorit</translation>
    </message>
    <message>
        <source>In use</source>
        <translation>In Verwendung</translation>
    </message>
</context>
<context>
    <name>Models</name>
    <message>
        <source>Asking {0}…</source>
        <translation>{0} wird gefragt …</translation>
    </message>
    <message>
        <source>Connect {0}…</source>
        <translation>{0} verbinden …</translation>
    </message>
    <message>
        <source>Costs nothing</source>
        <translation>Kostet nichts</translation>
    </message>
    <message>
        <source>Demo model</source>
        <translation>Demo-Modell</translation>
    </message>
    <message>
        <source>Favourites</source>
        <translation>Favoriten</translation>
    </message>
    <message>
        <source>Context size not known</source>
        <translation>Wie viel es auf einmal liest, ist nicht bekannt</translation>
    </message>
    <message>
        <source>Price not known</source>
        <translation>Der Preis ist nicht bekannt</translation>
    </message>
    <message>
        <source>No model has this name</source>
        <translation>Kein Modell heißt so</translation>
    </message>
    <message>
        <source>Not connected</source>
        <translation>Nicht verbunden</translation>
    </message>
    <message>
        <source>Context of {0} tokens</source>
        <translation>Liest {0} Token auf einmal</translation>
    </message>
    <message>
        <source>Agents</source>
        <translation>Agenten</translation>
    </message>
    <message>
        <source>An agent of another program</source>
        <translation>Ein Agent eines anderen Programms</translation>
    </message>
    <message>
        <source>Recent</source>
        <translation>Zuletzt</translation>
    </message>
    <message>
        <source>Sees images</source>
        <translation>Sieht Bilder</translation>
    </message>
    <message>
        <source>Sees no images</source>
        <translation>Sieht keine Bilder</translation>
    </message>
    <message>
        <source>Thinks before it answers</source>
        <translation>Denkt vor der Antwort nach</translation>
    </message>
    <message>
        <source>Use “{0}” of {1}</source>
        <translation>„{0}“ von {1} verwenden</translation>
    </message>
    <message>
        <source>Without a key</source>
        <translation>Ohne Schlüssel</translation>
    </message>
    <message>
        <source>Included in your plan</source>
        <translation>Ihr Tarif deckt die Kosten</translation>
    </message>
    <message>
        <source>an agent of another program</source>
        <translation>einen Agenten eines anderen Programms</translation>
    </message>
    <message>
        <source>free</source>
        <translation>kostenlos</translation>
    </message>
    <message>
        <source>in the sandbox</source>
        <translation>in der Sandbox</translation>
    </message>
    <message>
        <source>in your plan</source>
        <translation>in Ihrem Tarif</translation>
    </message>
    <message>
        <source>outside the sandbox</source>
        <translation>außerhalb der Sandbox</translation>
    </message>
    <message>
        <source>price unknown</source>
        <translation>Preis unbekannt</translation>
    </message>
    <message>
        <source>{0} is not offered: there is no program {1}.</source>
        <translation>{0} wird nicht angeboten: Es gibt kein Programm {1}.</translation>
    </message>
    <message>
        <source>{0} per million input tokens, {1} per million output tokens</source>
        <translation>{0} pro Million gelesener Token, {1} pro Million geschriebener</translation>
    </message>
    <message>
        <source>{0} more; type more letters to find them</source>
        <translation>{0} weitere; tippen Sie mehr Buchstaben, um sie zu finden</translation>
    </message>
    <message>
        <source>{0}: list could not be loaded</source>
        <translation>{0}: Liste konnte nicht gelesen werden</translation>
    </message>
    <message>
        <source>{0}: list not loaded yet</source>
        <translation>{0}: Liste wurde nie abgerufen</translation>
    </message>
    <message numerus="yes">
        <source>{0}: list from %n days ago</source>
        <translation>
            <numerusform>{0}: Liste ist %n Tag alt</numerusform>
            <numerusform>{0}: Liste ist %n Tage alt</numerusform>
        </translation>
    </message>
    <message>
        <source>{0}: list from yesterday</source>
        <translation>{0}: Liste von gestern</translation>
    </message>
    <message>
        <source>{0}: list of today</source>
        <translation>{0}: Liste von heute</translation>
    </message>
</context>
<context>
    <name>Modes</name>
    <message>
        <source>Asks always</source>
        <translation>Fragt immer</translation>
    </message>
    <message>
        <source>Asks before every call</source>
        <translation>Fragt vor jedem Aufruf</translation>
    </message>
    <message>
        <source>Asks before writing</source>
        <translation>Fragt vor dem Schreiben</translation>
    </message>
    <message>
        <source>Asks to leave</source>
        <translation>Verlassen fragt</translation>
    </message>
    <message>
        <source>Asks to leave the sandbox</source>
        <translation>Fragt vor dem Verlassen der Sandbox</translation>
    </message>
    <message>
        <source>Asks to write</source>
        <translation>Schreiben fragt</translation>
    </message>
    <message>
        <source>Commands can do anything your account can.</source>
        <translation>Befehle können alles, was Ihr Konto kann.</translation>
    </message>
    <message>
        <source>Commands cannot write anything. No network.</source>
        <translation>Befehle dürfen nichts schreiben. Kein Netz.</translation>
    </message>
    <message>
        <source>Edits in this folder and sandboxed commands run freely. Anything else asks first.</source>
        <translation>Bearbeitungen in diesem Ordner und eingeschränkte Befehle sind frei. Der Agent fragt, wenn er mehr will.</translation>
    </message>
    <message>
        <source>Commands can write only this folder and a temporary one. No network.</source>
        <translation>Befehle dürfen in diesen Ordner und in einen eigenen temporären schreiben. Kein Netz.</translation>
    </message>
    <message>
        <source>Never asks</source>
        <translation>Fragt nie</translation>
    </message>
    <message>
        <source>No sandbox</source>
        <translation>Keine Sandbox</translation>
    </message>
    <message>
        <source>Nothing is asked: anything that needs approval is refused.</source>
        <translation>Nichts wird gefragt: Was ein Ja bräuchte, wird verweigert.</translation>
    </message>
    <message>
        <source>Read-only</source>
        <translation>Nur lesen</translation>
    </message>
    <message>
        <source>Reads also ask.</source>
        <translation>Auch Lesen wartet auf Ihr Ja.</translation>
    </message>
    <message>
        <source>Reads run freely. Edits, commands that may change something, and network access ask first.</source>
        <translation>Lesen ist frei. Bei Bearbeitungen, bei Befehlen, die etwas ändern können, und beim Netz wird gefragt.</translation>
    </message>
    <message>
        <source>Runs outside the sandbox, with all the rights of your account</source>
        <translation>Läuft ohne Sandbox, mit allen Rechten Ihres Kontos</translation>
    </message>
    <message>
        <source>Sandbox: read-only</source>
        <translation>Sandbox: nur lesen</translation>
    </message>
    <message>
        <source>Sandbox: this folder</source>
        <translation>Sandbox: dieser Ordner</translation>
    </message>
    <message>
        <source>This folder</source>
        <translation>Dieser Ordner</translation>
    </message>
</context>
<context>
    <name>NamedPictures</name>
    <message>
        <source>Open in the browser</source>
        <translation>Im Browser öffnen</translation>
    </message>
    <message>
        <source>Open the file</source>
        <translation>Datei öffnen</translation>
    </message>
</context>
<context>
    <name>Navigation</name>
    <message>
        <source>Jump to latest ↓</source>
        <translation>Zum Neuesten ↓</translation>
    </message>
</context>
<context>
    <name>News</name>
    <message>
        <source>Reinstall the application.</source>
        <translation>Installieren Sie die Anwendung neu.</translation>
    </message>
    <message>
        <source>Read more in {0}.</source>
        <translation>Mehr davon steht in {0}.</translation>
    </message>
    <message>
        <source>The changelog is missing.</source>
        <translation>Das Änderungsprotokoll fehlt.</translation>
    </message>
</context>
<context>
    <name>NewsBar</name>
    <message>
        <source>Desktop Agent was updated to {0}.</source>
        <translation>Desktop Agent wurde auf {0} aktualisiert.</translation>
    </message>
    <message>
        <source>Desktop Agent {0} is available.</source>
        <translation>Desktop Agent {0} ist verfügbar.</translation>
    </message>
    <message>
        <source>Dismiss</source>
        <translation>Schließen</translation>
    </message>
    <message>
        <source>Open its page</source>
        <translation>Seite öffnen</translation>
    </message>
    <message>
        <source>What is new…</source>
        <translation>Was ist neu …</translation>
    </message>
</context>
<context>
    <name>NewsWindow</name>
    <message>
        <source>What is new</source>
        <translation>Was ist neu</translation>
    </message>
</context>
<context>
    <name>NoticeWidget</name>
    <message>
        <source>Ask the model now instead of waiting</source>
        <translation>Das Modell jetzt fragen, statt zu warten</translation>
    </message>
    <message>
        <source>Choose another account…</source>
        <translation>Anderes Konto wählen …</translation>
    </message>
    <message>
        <source>Details</source>
        <translation>Details</translation>
    </message>
    <message>
        <source>Hide details</source>
        <translation>Details ausblenden</translation>
    </message>
    <message>
        <source>In the terminal below</source>
        <translation>Im Terminal darunter</translation>
    </message>
    <message>
        <source>Open another folder…</source>
        <translation>Anderen Ordner öffnen …</translation>
    </message>
    <message>
        <source>Open settings</source>
        <translation>Einstellungen öffnen</translation>
    </message>
    <message>
        <source>Sign in again…</source>
        <translation>Erneut anmelden …</translation>
    </message>
    <message>
        <source>Sign in, or give it a key in the settings. Then try again.</source>
        <translation>Melden Sie sich an, oder geben Sie ihm in den Einstellungen einen Schlüssel. Versuchen Sie es dann erneut.</translation>
    </message>
    <message>
        <source>Sign in: {0}</source>
        <translation>Anmelden: {0}</translation>
    </message>
    <message>
        <source>Sign in…</source>
        <translation>Anmelden …</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>Erneut versuchen</translation>
    </message>
    <message>
        <source>Try now</source>
        <translation>Jetzt versuchen</translation>
    </message>
</context>
<context>
    <name>OnboardingDialog</name>
    <message>
        <source>Welcome</source>
        <translation>Willkommen</translation>
    </message>
</context>
<context>
    <name>OnboardingFoot</name>
    <message>
        <source>Back</source>
        <translation>Zurück</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Choose folder…</source>
        <translation>Ordner wählen …</translation>
    </message>
    <message>
        <source>Folder: {0}</source>
        <translation>Ordner: {0}</translation>
    </message>
    <message>
        <source>No folder chosen yet</source>
        <translation>Noch kein Ordner gewählt</translation>
    </message>
</context>
<context>
    <name>OneAtATime</name>
    <message>
        <source>Something went wrong inside the application.</source>
        <translation>In der Anwendung ist etwas schiefgegangen.</translation>
    </message>
</context>
<context>
    <name>OpenQuestion</name>
    <message>
        <source>Checking your command…</source>
        <translation>Ihr Befehl wird geprüft …</translation>
    </message>
    <message>
        <source>Only a visible change can be allowed</source>
        <translation>Nur eine sichtbare Änderung kann erlaubt werden</translation>
    </message>
    <message>
        <source>The agent keeps to its own command, so it cannot be edited here.</source>
        <translation>Der Agent bleibt bei seinem eigenen Befehl, deshalb kann er hier nicht bearbeitet werden.</translation>
    </message>
    <message>
        <source>There is no command to run</source>
        <translation>Es gibt keinen Befehl auszuführen</translation>
    </message>
</context>
<context>
    <name>OtherStep</name>
    <message>
        <source>Enter an address</source>
        <translation>Adresse eingeben</translation>
    </message>
    <message>
        <source>Enter an address…</source>
        <translation>Adresse eingeben …</translation>
    </message>
    <message>
        <source>The address of a gateway, a router or a server that speaks one of OpenAI&apos;s or Anthropic&apos;s formats.</source>
        <translation>Die Adresse eines Gateways, Routers oder Servers, der ein Format von OpenAI oder Anthropic spricht.</translation>
    </message>
    <message>
        <source>One account for the models of many vendors.</source>
        <translation>Ein Konto für die Modelle vieler Hersteller.</translation>
    </message>
    <message>
        <source>OpenRouter or another address</source>
        <translation>OpenRouter oder eine andere Adresse</translation>
    </message>
    <message>
        <source>Sign in with OpenRouter</source>
        <translation>Mit OpenRouter anmelden</translation>
    </message>
    <message>
        <source>Sign in…</source>
        <translation>Anmelden …</translation>
    </message>
    <message>
        <source>Your browser opens OpenRouter&apos;s page. It makes a key, which is kept in your keyring.</source>
        <translation>Ihr Browser öffnet die Seite von OpenRouter. Sie erstellt einen Schlüssel, der in Ihrem Schlüsselbund abgelegt wird.</translation>
    </message>
</context>
<context>
    <name>OutputWindow</name>
    <message>
        <source>Close</source>
        <translation>Schließen</translation>
    </message>
    <message>
        <source>Find</source>
        <translation>Suchen</translation>
    </message>
    <message>
        <source>Find in the output</source>
        <translation>In der Ausgabe suchen</translation>
    </message>
    <message>
        <source>Only the end is shown: the output is very long.</source>
        <translation>Nur das Ende wird angezeigt: Die Ausgabe ist sehr lang.</translation>
    </message>
    <message>
        <source>Output of {0}</source>
        <translation>Ausgabe von {0}</translation>
    </message>
    <message>
        <source>↪ continues the line above; it is copied as one line.</source>
        <translation>↪ setzt die Zeile darüber fort; sie wird als eine Zeile kopiert.</translation>
    </message>
</context>
<context>
    <name>PageSaving</name>
    <message>
        <source>A character does not fit the encoding of this file.</source>
        <translation>Ein Zeichen passt nicht in die Kodierung dieser Datei.</translation>
    </message>
</context>
<context>
    <name>PageWidget</name>
    <message>
        <source>Earlier messages</source>
        <translation>Frühere Nachrichten</translation>
    </message>
</context>
<context>
    <name>PairFields</name>
    <message>
        <source>In the keyring</source>
        <translation>Im Schlüsselbund</translation>
    </message>
</context>
<context>
    <name>Palette</name>
    <message>
        <source>Actions</source>
        <translation>Aktionen</translation>
    </message>
    <message>
        <source>Allow</source>
        <translation>Erlauben</translation>
    </message>
    <message>
        <source>Allow once</source>
        <translation>Einmal erlauben</translation>
    </message>
    <message>
        <source>Break the line</source>
        <translation>Zeile umbrechen</translation>
    </message>
    <message>
        <source>Recall the previous message</source>
        <translation>Gesendetes zurückholen</translation>
    </message>
    <message>
        <source>Close the tab</source>
        <translation>Tab schließen</translation>
    </message>
    <message>
        <source>Commands</source>
        <translation>Befehle</translation>
    </message>
    <message>
        <source>Comment on the lines</source>
        <translation>Die Zeilen kommentieren</translation>
    </message>
    <message>
        <source>Copy the path</source>
        <translation>Pfad kopieren</translation>
    </message>
    <message>
        <source>Copy the selected lines</source>
        <translation>Ausgewählte Zeilen kopieren</translation>
    </message>
    <message>
        <source>Copy what is selected</source>
        <translation>Auswahl kopieren</translation>
    </message>
    <message>
        <source>Delete the file</source>
        <translation>Datei löschen</translation>
    </message>
    <message>
        <source>Deny</source>
        <translation>Ablehnen</translation>
    </message>
    <message>
        <source>Edit the command</source>
        <translation>Befehl bearbeiten</translation>
    </message>
    <message>
        <source>Edit the file here</source>
        <translation>Datei hier bearbeiten</translation>
    </message>
    <message>
        <source>Files</source>
        <translation>Dateien</translation>
    </message>
    <message>
        <source>Find in the changes of this file</source>
        <translation>In den Änderungen dieser Datei suchen</translation>
    </message>
    <message>
        <source>Find in the file</source>
        <translation>In der Datei suchen</translation>
    </message>
    <message>
        <source>Find in the terminal</source>
        <translation>Im Terminal suchen</translation>
    </message>
    <message>
        <source>Fit the window</source>
        <translation>In das Fenster einpassen</translation>
    </message>
    <message>
        <source>Go to the beginning</source>
        <translation>Zum Anfang gehen</translation>
    </message>
    <message>
        <source>Go to the end</source>
        <translation>Zum Ende gehen</translation>
    </message>
    <message>
        <source>Recall the next message</source>
        <translation>Weiter zu später Gesendetem</translation>
    </message>
    <message>
        <source>Go to a line</source>
        <translation>Zu einer Zeile gehen</translation>
    </message>
    <message>
        <source>In a diff</source>
        <translation>In einem Diff</translation>
    </message>
    <message>
        <source>In a picture</source>
        <translation>In einem Bild</translation>
    </message>
    <message>
        <source>In the approval dialog</source>
        <translation>Im Freigabedialog</translation>
    </message>
    <message>
        <source>In the conversation</source>
        <translation>In der Unterhaltung</translation>
    </message>
    <message>
        <source>In the file tree</source>
        <translation>Im Dateibaum</translation>
    </message>
    <message>
        <source>In the file viewer</source>
        <translation>In der Dateiansicht</translation>
    </message>
    <message>
        <source>In the list of sessions</source>
        <translation>In der Liste der Sitzungen</translation>
    </message>
    <message>
        <source>In the message</source>
        <translation>In der Nachricht</translation>
    </message>
    <message>
        <source>In the terminal</source>
        <translation>Im Terminal</translation>
    </message>
    <message>
        <source>In the usage window</source>
        <translation>Im Nutzungsfenster</translation>
    </message>
    <message>
        <source>Keep the change, or leave it undecided</source>
        <translation>Die Änderung behalten oder offen lassen</translation>
    </message>
    <message>
        <source>Keys</source>
        <translation>Tasten</translation>
    </message>
    <message>
        <source>Next change</source>
        <translation>Nächste Änderung</translation>
    </message>
    <message>
        <source>Next tab</source>
        <translation>Nächster Tab</translation>
    </message>
    <message>
        <source>Nothing matches. Try fewer letters.</source>
        <translation>Nichts passt dazu. Versuchen Sie es mit weniger Buchstaben.</translation>
    </message>
    <message>
        <source>Open a folded part</source>
        <translation>Eingeklappten Teil aufklappen</translation>
    </message>
    <message>
        <source>Open a folder to go to one of its files.</source>
        <translation>Öffnen Sie einen Ordner, um zu einer seiner Dateien zu gehen.</translation>
    </message>
    <message>
        <source>Open and close a folder</source>
        <translation>Ordner auf- und zuklappen</translation>
    </message>
    <message>
        <source>Open the file</source>
        <translation>Datei öffnen</translation>
    </message>
    <message>
        <source>Open the session</source>
        <translation>Sitzung öffnen</translation>
    </message>
    <message>
        <source>Reopen the last closed tab</source>
        <translation>Zuletzt geschlossenen Tab wieder öffnen</translation>
    </message>
    <message>
        <source>Show the picture at its actual size</source>
        <translation>Bild in Originalgröße anzeigen</translation>
    </message>
    <message>
        <source>Wrap long lines</source>
        <translation>Lange Zeilen umbrechen</translation>
    </message>
    <message>
        <source>Paste</source>
        <translation>Einfügen</translation>
    </message>
    <message>
        <source>By day, model, tool or folder</source>
        <translation>Nach Tag, Modell, Werkzeug oder Ordner</translation>
    </message>
    <message>
        <source>Previous change</source>
        <translation>Vorherige Änderung</translation>
    </message>
    <message>
        <source>Previous tab</source>
        <translation>Vorheriger Tab</translation>
    </message>
    <message>
        <source>Recently used</source>
        <translation>Zuletzt verwendet</translation>
    </message>
    <message>
        <source>Redo the change</source>
        <translation>Die Änderung wiederherstellen</translation>
    </message>
    <message>
        <source>Rename the file</source>
        <translation>Datei umbenennen</translation>
    </message>
    <message>
        <source>Rename the session</source>
        <translation>Sitzung umbenennen</translation>
    </message>
    <message>
        <source>Save the file</source>
        <translation>Datei speichern</translation>
    </message>
    <message>
        <source>Scroll down</source>
        <translation>Nach unten blättern</translation>
    </message>
    <message>
        <source>Scroll up</source>
        <translation>Nach oben blättern</translation>
    </message>
    <message>
        <source>Select all</source>
        <translation>Alles auswählen</translation>
    </message>
    <message>
        <source>Send</source>
        <translation>Senden</translation>
    </message>
    <message>
        <source>Send into the running turn</source>
        <translation>In die laufende Runde senden</translation>
    </message>
    <message>
        <source>Sessions</source>
        <translation>Sitzungen</translation>
    </message>
    <message>
        <source>Settings</source>
        <translation>Einstellungen</translation>
    </message>
    <message>
        <source>The files of the folder are being listed…</source>
        <translation>Die Dateien des Ordners werden aufgelistet …</translation>
    </message>
    <message>
        <source>Undo the change</source>
        <translation>Die Änderung rückgängig machen</translation>
    </message>
    <message>
        <source>While an approval card waits</source>
        <translation>Während eine Freigabe wartet</translation>
    </message>
</context>
<context>
    <name>PaletteOpening</name>
    <message>
        <source>Everywhere</source>
        <translation>Überall</translation>
    </message>
</context>
<context>
    <name>PathActions</name>
    <message>
        <source>Close</source>
        <translation>Schließen</translation>
    </message>
    <message>
        <source>Copy path</source>
        <translation>Pfad kopieren</translation>
    </message>
    <message>
        <source>Copy relative path</source>
        <translation>Relativen Pfad kopieren</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>Löschen</translation>
    </message>
    <message>
        <source>History in this conversation</source>
        <translation>Verlauf in dieser Unterhaltung</translation>
    </message>
    <message>
        <source>Mention in the message</source>
        <translation>In der Nachricht erwähnen</translation>
    </message>
    <message>
        <source>Open</source>
        <translation>Öffnen</translation>
    </message>
    <message>
        <source>Open with its application</source>
        <translation>Mit seinem Programm öffnen</translation>
    </message>
    <message>
        <source>Rename…</source>
        <translation>Umbenennen …</translation>
    </message>
    <message>
        <source>Show changes</source>
        <translation>Änderungen anzeigen</translation>
    </message>
</context>
<context>
    <name>PickerFoot</name>
    <message>
        <source>Refresh list</source>
        <translation>Liste aktualisieren</translation>
    </message>
    <message>
        <source>Refreshing… {0} of {1}</source>
        <translation>Wird aktualisiert … {0} von {1}</translation>
    </message>
</context>
<context>
    <name>PictureButton</name>
    <message>
        <source>Loading…</source>
        <translation>Wird geladen …</translation>
    </message>
    <message>
        <source>Picture {title}: {caption}</source>
        <translation>Bild {title}: {caption}</translation>
    </message>
</context>
<context>
    <name>PictureCanvas</name>
    <message>
        <source>{0} % of the old version</source>
        <translation>{0} % der alten Fassung</translation>
    </message>
</context>
<context>
    <name>PicturePage</name>
    <message>
        <source>Picture, {0}</source>
        <translation>Bild, {0}</translation>
    </message>
</context>
<context>
    <name>PictureWindow</name>
    <message>
        <source>Close</source>
        <translation>Schließen</translation>
    </message>
    <message>
        <source>Larger</source>
        <translation>Größer</translation>
    </message>
    <message>
        <source>Picture {title}</source>
        <translation>Bild {title}</translation>
    </message>
    <message>
        <source>Smaller</source>
        <translation>Kleiner</translation>
    </message>
</context>
<context>
    <name>PinList</name>
    <message>
        <source>For a day</source>
        <translation>Einen Tag lang</translation>
    </message>
    <message>
        <source>For a week</source>
        <translation>Eine Woche lang</translation>
    </message>
    <message>
        <source>For an hour</source>
        <translation>Eine Stunde lang</translation>
    </message>
    <message>
        <source>How long</source>
        <translation>Wie lange</translation>
    </message>
    <message>
        <source>Pin</source>
        <translation>Anheften</translation>
    </message>
    <message>
        <source>Pin text for the agent…</source>
        <translation>Text für den Agenten anheften …</translation>
    </message>
    <message>
        <source>Text to pin</source>
        <translation>Anzuheftender Text</translation>
    </message>
    <message>
        <source>Unpin</source>
        <translation>Lösen</translation>
    </message>
    <message>
        <source>Unpin “{0}”</source>
        <translation>„{0}“ lösen</translation>
    </message>
    <message>
        <source>Until removed</source>
        <translation>Bis er entfernt wird</translation>
    </message>
    <message>
        <source>until {0}</source>
        <translation>bis {0}</translation>
    </message>
</context>
<context>
    <name>PlanBar</name>
    <message>
        <source>Carry out</source>
        <translation>Ausführen</translation>
    </message>
    <message>
        <source>Carry out in a worktree</source>
        <translation>In einem Worktree ausführen</translation>
    </message>
    <message>
        <source>Making the worktree in which the plan is carried out…</source>
        <translation>Der Worktree, in dem der Plan ausgeführt wird, wird angelegt …</translation>
    </message>
    <message>
        <source>Plan: {0}</source>
        <translation>Plan: {0}</translation>
    </message>
    <message>
        <source>Read and edit…</source>
        <translation>Lesen und bearbeiten …</translation>
    </message>
    <message>
        <source>The files in this folder stay as they are until you bring the changes back</source>
        <translation>Die Dateien in diesem Ordner bleiben, wie sie sind, bis Sie die Änderungen zurückholen</translation>
    </message>
</context>
<context>
    <name>PlanPage</name>
    <message>
        <source>Plan</source>
        <translation>Plan</translation>
    </message>
</context>
<context>
    <name>PlanWindow</name>
    <message>
        <source>Approvals</source>
        <translation>Freigaben</translation>
    </message>
    <message>
        <source>Carry out</source>
        <translation>Ausführen</translation>
    </message>
    <message>
        <source>Carry out in a worktree</source>
        <translation>In einem Worktree ausführen</translation>
    </message>
    <message>
        <source>Changes</source>
        <translation>Änderungen</translation>
    </message>
    <message>
        <source>Click beside a line to comment on it. Your changes are kept.</source>
        <translation>Klicken Sie neben eine Zeile, um sie zu kommentieren. Ihre Änderungen bleiben erhalten.</translation>
    </message>
    <message>
        <source>Comment</source>
        <translation>Kommentieren</translation>
    </message>
    <message>
        <source>Edit</source>
        <translation>Bearbeiten</translation>
    </message>
    <message>
        <source>End planning, and let the agent carry out the plan (Ctrl+Enter)</source>
        <translation>Das Planen beenden und den Plan vom Agenten ausführen lassen (Strg+Enter)</translation>
    </message>
    <message>
        <source>Plan</source>
        <translation>Plan</translation>
    </message>
    <message>
        <source>Read</source>
        <translation>Lesen</translation>
    </message>
    <message numerus="yes">
        <source>Send %n comments</source>
        <translation>
            <numerusform>Kommentar senden</numerusform>
            <numerusform>%n Kommentare senden</numerusform>
        </translation>
    </message>
    <message>
        <source>The agent is working. {0}</source>
        <translation>Der Agent arbeitet. {0}</translation>
    </message>
    <message>
        <source>The files in this folder stay as they are until you bring the changes back (Ctrl+Shift+Enter)</source>
        <translation>Die Dateien in diesem Ordner bleiben, wie sie sind, bis Sie die Änderungen zurückholen (Strg+Umschalt+Enter)</translation>
    </message>
    <message>
        <source>Views of the plan</source>
        <translation>Ansichten des Plans</translation>
    </message>
    <message>
        <source>Write about the marked lines</source>
        <translation>Die markierten Zeilen kommentieren</translation>
    </message>
</context>
<context>
    <name>PluginCard</name>
    <message>
        <source>It cannot be used: {0}.</source>
        <translation>Es kann nicht verwendet werden: {0}.</translation>
    </message>
    <message>
        <source>It has changed since you allowed it, so it starts nothing until you allow it again.</source>
        <translation>Es hat sich geändert, seit Sie es zugelassen haben, und startet nichts, bis Sie es erneut zulassen.</translation>
    </message>
    <message>
        <source>It waits until you trust the project.</source>
        <translation>Es wartet, bis Sie dem Projekt vertrauen.</translation>
    </message>
    <message>
        <source>Allow it as it is now</source>
        <translation>So zulassen, wie es jetzt ist</translation>
    </message>
    <message>
        <source>Allow the plugin {0} as it is now</source>
        <translation>Das Plugin {0} so zulassen, wie es jetzt ist</translation>
    </message>
    <message>
        <source>Remove the plugin {0}</source>
        <translation>Das Plugin {0} entfernen</translation>
    </message>
    <message>
        <source>Remove {0} and everything that its programs stored?</source>
        <translation>{0} entfernen, mit allem, was seine Programme gespeichert haben?</translation>
    </message>
    <message>
        <source>Update the plugin {0}</source>
        <translation>Das Plugin {0} aktualisieren</translation>
    </message>
    <message>
        <source>Update…</source>
        <translation>Aktualisieren …</translation>
    </message>
    <message>
        <source>Use the plugin {0}</source>
        <translation>Das Plugin {0} verwenden</translation>
    </message>
</context>
<context>
    <name>PluginForm</name>
    <message>
        <source>Add</source>
        <translation>Hinzufügen</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Choose the folder of the plugin</source>
        <translation>Den Ordner des Plugins auswählen</translation>
    </message>
    <message>
        <source>Choose…</source>
        <translation>Wählen …</translation>
    </message>
    <message>
        <source>Fetching it. None of it runs…</source>
        <translation>Wird abgerufen. Nichts davon wird ausgeführt …</translation>
    </message>
    <message>
        <source>Subfolder</source>
        <translation>Unterordner</translation>
    </message>
    <message>
        <source>Subfolder of the plugin</source>
        <translation>Unterordner des Plugins</translation>
    </message>
    <message>
        <source>Update</source>
        <translation>Aktualisieren</translation>
    </message>
    <message>
        <source>Update {0}</source>
        <translation>{0} aktualisieren</translation>
    </message>
    <message>
        <source>{0} is up to date.</source>
        <translation>{0} ist auf dem neuesten Stand.</translation>
    </message>
    <message>
        <source>Folder or address of the plugin</source>
        <translation>Ordner oder Adresse des Plugins</translation>
    </message>
    <message>
        <source>From</source>
        <translation>Von</translation>
    </message>
    <message>
        <source>Name a folder, or the address of a git repository.</source>
        <translation>Nennen Sie einen Ordner oder die Adresse eines Git-Repositorys.</translation>
    </message>
    <message>
        <source>New plugin</source>
        <translation>Neues Plugin</translation>
    </message>
    <message>
        <source>Only if the plugin is not at the top</source>
        <translation>Nur wenn das Plugin nicht ganz oben liegt</translation>
    </message>
    <message>
        <source>Show what it brings</source>
        <translation>Zeigen, was es mitbringt</translation>
    </message>
</context>
<context>
    <name>PluginWords</name>
    <message>
        <source>Commands: {0}</source>
        <translation>Befehle: {0}</translation>
    </message>
    <message>
        <source>It runs these as you do, outside the sandbox:</source>
        <translation>Es führt Folgendes wie Sie selbst aus, außerhalb der Sandbox:</translation>
    </message>
    <message>
        <source>It runs these in the sandbox:</source>
        <translation>Es führt Folgendes in der Sandbox aus:</translation>
    </message>
    <message>
        <source>Left out, because they lead out of the plugin or are not files: {0}</source>
        <translation>Weggelassen, weil sie aus dem Plugin hinausführen oder keine Dateien sind: {0}</translation>
    </message>
    <message>
        <source>Not used: {0}</source>
        <translation>Nicht verwendet: {0}</translation>
    </message>
    <message>
        <source>Skills: {0}</source>
        <translation>Skills: {0}</translation>
    </message>
    <message>
        <source>Sub-agents: {0}</source>
        <translation>Unteragenten: {0}</translation>
    </message>
</context>
<context>
    <name>PluginsPage</name>
    <message>
        <source>Add plugin…</source>
        <translation>Plugin hinzufügen …</translation>
    </message>
    <message>
        <source>Folders that bundle skills, commands, sub-agents, hooks and MCP servers, made for Claude Code or in the open format. You see what a plugin brings and starts before you add it.</source>
        <translation>Ordner, die Skills, Befehle, Unteragenten, Hooks und MCP-Server bündeln, für Claude Code oder im offenen Format. Sie sehen, was ein Plugin mitbringt und startet, bevor Sie es hinzufügen.</translation>
    </message>
    <message>
        <source>There are no plugins yet.</source>
        <translation>Es gibt noch keine Plugins.</translation>
    </message>
</context>
<context>
    <name>PrintedBody</name>
    <message>
        <source>Show all output</source>
        <translation>Gesamte Ausgabe anzeigen</translation>
    </message>
</context>
<context>
    <name>ProjectBanner</name>
    <message>
        <source>Details…</source>
        <translation>Details …</translation>
    </message>
    <message>
        <source>Ignore</source>
        <translation>Ignorieren</translation>
    </message>
    <message>
        <source>The model would see this file from outside the folder: {0}</source>
        <translation>Das Modell bekäme diese Datei von außerhalb des Ordners: {0}</translation>
    </message>
    <message>
        <source>The model would be offered these skills and sub-agents: {0}</source>
        <translation>Dem Modell würden diese Skills und Unteragenten angeboten: {0}</translation>
    </message>
    <message>
        <source>These settings would offer the agent {0}</source>
        <translation>Diese Einstellungen würden den Agenten {0} anbieten</translation>
    </message>
    <message>
        <source>These settings would start the MCP server {0}</source>
        <translation>Diese Einstellungen würden den MCP-Server {0} starten</translation>
    </message>
    <message>
        <source>This language server would run in the sandbox: {0}</source>
        <translation>Dieser Language-Server würde in der Sandbox laufen: {0}</translation>
    </message>
    <message>
        <source>This project brings settings or extensions. They apply only if you trust them.</source>
        <translation>Dieses Projekt bringt Einstellungen oder Erweiterungen mit. Sie gelten nur, wenn Sie ihnen vertrauen.</translation>
    </message>
    <message>
        <source>This would run outside the sandbox: {0}</source>
        <translation>Dies würde außerhalb der Sandbox laufen: {0}</translation>
    </message>
    <message>
        <source>Trust</source>
        <translation>Vertrauen</translation>
    </message>
</context>
<context>
    <name>ProjectPage</name>
    <message>
        <source>Ignore</source>
        <translation>Ignorieren</translation>
    </message>
    <message>
        <source>And {0} more.</source>
        <translation>Und {0} weitere.</translation>
    </message>
    <message>
        <source>Ignore what the project brings</source>
        <translation>Ignorieren, was das Projekt mitbringt</translation>
    </message>
    <message>
        <source>Nothing, because these settings already apply or are refused.</source>
        <translation>Nichts, weil diese Einstellungen schon gelten oder verweigert werden.</translation>
    </message>
    <message>
        <source>The model would see these files from outside the folder:</source>
        <translation>Das Modell bekäme diese Dateien von außerhalb des Ordners:</translation>
    </message>
    <message>
        <source>The model would see these names, and could ask for their text:</source>
        <translation>Das Modell sähe diese Namen und könnte den Text anfordern:</translation>
    </message>
    <message>
        <source>These MCP servers could start. Servers not marked as confined can do everything you can:</source>
        <translation>Diese MCP-Server könnten starten. Server, die nicht als eingeschränkt gekennzeichnet sind, können alles, was Sie können:</translation>
    </message>
    <message>
        <source>These MCP servers may start. Servers not marked as confined can do everything you can:</source>
        <translation>Diese MCP-Server dürfen starten. Server, die nicht als eingeschränkt gekennzeichnet sind, können alles, was Sie können:</translation>
    </message>
    <message>
        <source>These hooks and plugins would run as you do, outside the sandbox:</source>
        <translation>Diese Hooks und Plugins würden mit Ihren Rechten laufen, außerhalb der Sandbox:</translation>
    </message>
    <message>
        <source>These language servers would run in the sandbox, where they read the folder:</source>
        <translation>Diese Language-Server würden in der Sandbox laufen, wo sie den Ordner lesen:</translation>
    </message>
    <message>
        <source>Trust the project</source>
        <translation>Dem Projekt vertrauen</translation>
    </message>
    <message>
        <source>You could choose these agents. Those not marked as confined can do everything you can:</source>
        <translation>Sie könnten diese Agenten wählen. Die nicht als eingeschränkt gekennzeichneten können alles, was Sie können:</translation>
    </message>
    <message>
        <source>Trust</source>
        <translation>Vertrauen</translation>
    </message>
    <message>
        <source>A project&apos;s settings can only make the rules stricter, and define MCP servers and agents. They apply once you trust the project, and wait again when they, or files that its servers run, change; so do its hooks, language servers and plugins. Its skills and sub-agents are text for the model: once trusted, they still apply when they change.</source>
        <translation>Die Einstellungen eines Projekts können die Regeln nur verschärfen und MCP-Server und Agenten definieren. Sie gelten, sobald Sie dem Projekt vertrauen, und warten wieder, wenn sie oder Dateien, die seine Server ausführen, sich ändern; ebenso seine Hooks, Language-Server und Plugins. Seine Skills und Unteragenten sind Text für das Modell: Einmal vertraut, gelten sie auch, wenn sie sich ändern.</translation>
    </message>
    <message>
        <source>This project is waiting for your answer. It would bring:</source>
        <translation>Dieses Projekt wartet auf Ihre Antwort. Es brächte mit:</translation>
    </message>
    <message>
        <source>You ignore what this project would bring:</source>
        <translation>Sie ignorieren, was dieses Projekt mitbrächte:</translation>
    </message>
    <message>
        <source>You trust this project. It brings:</source>
        <translation>Sie vertrauen diesem Projekt. Es bringt mit:</translation>
    </message>
    <message>
        <source>{0} (changed since you answered)</source>
        <translation>{0} (seit Ihrer Antwort geändert)</translation>
    </message>
    <message>
        <source>{0} (switched off)</source>
        <translation>{0} (abgeschaltet)</translation>
    </message>
</context>
<context>
    <name>PromptAttachments</name>
    <message>
        <source>Attached: {name}, {kind}, {size}</source>
        <translation>Angehängt: {name}, {kind}, {size}</translation>
    </message>
    <message>
        <source>Show what was sent</source>
        <translation>Zeigen, was gesendet wurde</translation>
    </message>
    <message>
        <source>file</source>
        <translation>Datei</translation>
    </message>
    <message>
        <source>folder</source>
        <translation>Ordner</translation>
    </message>
    <message>
        <source>picture</source>
        <translation>Bild</translation>
    </message>
    <message>
        <source>resource</source>
        <translation>Ressource</translation>
    </message>
    <message>
        <source>session</source>
        <translation>Sitzung</translation>
    </message>
</context>
<context>
    <name>PromptEditor</name>
    <message>
        <source>Also undo the changes made since</source>
        <translation>Auch die seither gemachten Änderungen rückgängig machen</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Continues in a copy of this conversation that ends before this message.</source>
        <translation>Geht in einer Kopie dieser Unterhaltung weiter, die vor dieser Nachricht endet.</translation>
    </message>
    <message>
        <source>Keep files as they are</source>
        <translation>Dateien lassen, wie sie sind</translation>
    </message>
    <message>
        <source>Send</source>
        <translation>Senden</translation>
    </message>
    <message>
        <source>What happens with the files</source>
        <translation>Was mit den Dateien geschieht</translation>
    </message>
    <message>
        <source>Your message, edited</source>
        <translation>Ihre Nachricht, bearbeitet</translation>
    </message>
</context>
<context>
    <name>PromptWidget</name>
    <message>
        <source>Edit</source>
        <translation>Bearbeiten</translation>
    </message>
    <message>
        <source>Edit this message and send it again</source>
        <translation>Diese Nachricht bearbeiten und erneut senden</translation>
    </message>
    <message>
        <source>You, while the agent worked: {text}</source>
        <translation>Sie, während der Agent arbeitete: {text}</translation>
    </message>
    <message>
        <source>You: {text}</source>
        <translation>Sie: {text}</translation>
    </message>
</context>
<context>
    <name>PushQuestion</name>
    <message>
        <source>Push</source>
        <translation>Pushen</translation>
    </message>
    <message>
        <source>Push {0} of the branch {1} to {2}?</source>
        <translation>{0} des Branches {1} zu {2} pushen?</translation>
    </message>
    <message>
        <source>{0} does not have this branch yet.</source>
        <translation>{0} hat diesen Branch noch nicht.</translation>
    </message>
</context>
<context>
    <name>Question</name>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
</context>
<context>
    <name>QuestionHead</name>
    <message>
        <source>Details</source>
        <translation>Details</translation>
    </message>
    <message>
        <source>How it would run</source>
        <translation>Wie es laufen würde</translation>
    </message>
    <message>
        <source>Proposed call</source>
        <translation>Vorgeschlagener Aufruf</translation>
    </message>
    <message>
        <source>Risks</source>
        <translation>Risiken</translation>
    </message>
    <message>
        <source>Safety copy</source>
        <translation>Sicherungskopie</translation>
    </message>
    <message>
        <source>The server&apos;s description of the tool</source>
        <translation>Beschreibung des Werkzeugs durch den Server</translation>
    </message>
    <message>
        <source>Why am I asked?</source>
        <translation>Warum werde ich gefragt?</translation>
    </message>
    <message>
        <source>Why you are asked: {0}</source>
        <translation>Warum Sie gefragt werden: {0}</translation>
    </message>
</context>
<context>
    <name>QueueCard</name>
    <message>
        <source>Alt and the arrow keys move it, Enter edits it, Delete removes it.</source>
        <translation>Alt und die Pfeiltasten verschieben sie, Enter bearbeitet sie, Entf entfernt sie.</translation>
    </message>
    <message>
        <source>Edit</source>
        <translation>Bearbeiten</translation>
    </message>
    <message>
        <source>Edit the waiting message</source>
        <translation>Wartende Nachricht bearbeiten</translation>
    </message>
    <message>
        <source>It reaches the agent at its next step.</source>
        <translation>Sie erreicht den Agenten bei seinem nächsten Schritt.</translation>
    </message>
    <message>
        <source>Next</source>
        <translation>Als Nächstes</translation>
    </message>
    <message>
        <source>Not sent</source>
        <translation>Nicht gesendet</translation>
    </message>
    <message>
        <source>Reaches the agent at the next step</source>
        <translation>Erreicht den Agenten beim nächsten Schritt</translation>
    </message>
    <message>
        <source>Reaches the agent at the next step: {text}</source>
        <translation>Erreicht den Agenten beim nächsten Schritt: {text}</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>Entfernen</translation>
    </message>
    <message>
        <source>Remove the waiting message</source>
        <translation>Wartende Nachricht entfernen</translation>
    </message>
    <message>
        <source>Send into this turn</source>
        <translation>In diese Runde senden</translation>
    </message>
    <message>
        <source>Send now</source>
        <translation>Jetzt senden</translation>
    </message>
    <message>
        <source>Send the waiting message now</source>
        <translation>Wartende Nachricht jetzt senden</translation>
    </message>
    <message>
        <source>Send the waiting message now, into this turn</source>
        <translation>Wartende Nachricht jetzt in diese Runde senden</translation>
    </message>
    <message>
        <source>Waiting: {text}</source>
        <translation>Wartet: {text}</translation>
    </message>
</context>
<context>
    <name>QuitQuestion</name>
    <message>
        <source>A program is still running in the terminal. End it and quit?</source>
        <translation>Im Terminal läuft noch ein Programm. Abbrechen und beenden?</translation>
    </message>
    <message>
        <source>Its processes are ended. The conversation and its changes are kept.</source>
        <translation>Seine Prozesse werden beendet. Die Unterhaltung und ihre Änderungen bleiben erhalten.</translation>
    </message>
    <message>
        <source>Or let it go on without the window. Starting Desktop Agent again brings the window back.</source>
        <translation>Oder lassen Sie ihn ohne das Fenster weiterarbeiten. Ein neuer Start von Desktop Agent bringt das Fenster zurück.</translation>
    </message>
    <message>
        <source>Work in the background</source>
        <translation>Im Hintergrund arbeiten</translation>
    </message>
    <message>
        <source>Quit</source>
        <translation>Beenden</translation>
    </message>
    <message>
        <source>Stop and quit</source>
        <translation>Anhalten und beenden</translation>
    </message>
    <message>
        <source>The agent is still working. Stop it and quit?</source>
        <translation>Der Agent arbeitet noch. Anhalten und beenden?</translation>
    </message>
</context>
<context>
    <name>Quoting</name>
    <message>
        <source>“{0}”</source>
        <translation>„{0}“</translation>
    </message>
</context>
<context>
    <name>ReadAloud</name>
    <message>
        <source>Text of the terminal</source>
        <translation>Text des Terminals</translation>
    </message>
</context>
<context>
    <name>Removal</name>
    <message>
        <source>Keep it</source>
        <translation>Behalten</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>Entfernen</translation>
    </message>
    <message>
        <source>Remove it</source>
        <translation>Entfernen</translation>
    </message>
</context>
<context>
    <name>RenameDialog</name>
    <message>
        <source>Everything in the folder moves with it. Your change is on record, and can be undone.</source>
        <translation>Alles, was in dem Ordner ist, geht mit. Ihre Änderung wird festgehalten und kann rückgängig gemacht werden.</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>New name, with its path relative to the folder</source>
        <translation>Neuer Name, mit seinem Pfad ab dem Ordner</translation>
    </message>
    <message>
        <source>Rename</source>
        <translation>Umbenennen</translation>
    </message>
    <message>
        <source>Rename {0}</source>
        <translation>{0} umbenennen</translation>
    </message>
    <message>
        <source>Your change is on record, and can be undone.</source>
        <translation>Ihre Änderung wird aufgezeichnet und kann rückgängig gemacht werden.</translation>
    </message>
</context>
<context>
    <name>ResetQuestion</name>
    <message numerus="yes">
        <source>%n actions have your own keys. They get their default keys back.</source>
        <translation>
            <numerusform>%n Aktion hat eigene Tasten. Sie bekommt ihre ursprünglichen zurück.</numerusform>
            <numerusform>%n Aktionen haben eigene Tasten. Sie bekommen ihre ursprünglichen zurück.</numerusform>
        </translation>
    </message>
    <message>
        <source>Keep them</source>
        <translation>Behalten</translation>
    </message>
    <message>
        <source>Reset all</source>
        <translation>Alle zurücksetzen</translation>
    </message>
</context>
<context>
    <name>ReviewPanel</name>
    <message>
        <source>Review</source>
        <translation>Prüfung</translation>
    </message>
    <message>
        <source>Wait until the turn has ended, or stop it</source>
        <translation>Warten Sie, bis die Runde zu Ende ist, oder halten Sie sie an</translation>
    </message>
</context>
<context>
    <name>RewindDialog</name>
    <message numerus="yes">
        <source>%n files are restored to their earlier state.</source>
        <translation>
            <numerusform>%n Datei wird auf den vorherigen Stand gebracht.</numerusform>
            <numerusform>%n Dateien werden auf den vorherigen Stand gebracht.</numerusform>
        </translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Conversation and files</source>
        <translation>Unterhaltung und Dateien</translation>
    </message>
    <message>
        <source>Conversation only</source>
        <translation>Nur Unterhaltung</translation>
    </message>
    <message>
        <source>Files only</source>
        <translation>Nur Dateien</translation>
    </message>
    <message>
        <source>Files stay as they are.</source>
        <translation>Die Dateien bleiben, wie sie sind.</translation>
    </message>
    <message>
        <source>Go back</source>
        <translation>Zurückgehen</translation>
    </message>
    <message>
        <source>Go back to before this message?</source>
        <translation>Vor diese Nachricht zurückgehen?</translation>
    </message>
    <message>
        <source>Go back to before which message</source>
        <translation>Vor welche Nachricht zurückgehen</translation>
    </message>
    <message numerus="yes">
        <source>The agent no longer sees %n turns, from this message on.</source>
        <translation>
            <numerusform>Der Agent sieht %n Runde ab dieser Nachricht nicht mehr.</numerusform>
            <numerusform>Der Agent sieht %n Runden ab dieser Nachricht nicht mehr.</numerusform>
        </translation>
    </message>
    <message>
        <source>The agent no longer sees this message and its answer.</source>
        <translation>Der Agent sieht diese Nachricht und ihre Antwort nicht mehr.</translation>
    </message>
    <message>
        <source>The conversation stays.</source>
        <translation>Die Unterhaltung bleibt.</translation>
    </message>
    <message>
        <source>Your later changes are kept; where they clash, you are asked.</source>
        <translation>Was Sie seither geändert haben, bleibt; wo es sich widerspricht, werden Sie gefragt.</translation>
    </message>
    <message numerus="yes">
        <source>and %n more</source>
        <translation>
            <numerusform>und %n weitere</numerusform>
            <numerusform>und %n weitere</numerusform>
        </translation>
    </message>
    <message>
        <source>{0}: {1}</source>
        <translation>{0}: {1}</translation>
    </message>
</context>
<context>
    <name>RuleEditor</name>
    <message>
        <source>Allow {0} in this folder</source>
        <translation>{0} in diesem Ordner erlauben</translation>
    </message>
    <message>
        <source>Allow {0} in this session</source>
        <translation>{0} in dieser Sitzung erlauben</translation>
    </message>
    <message>
        <source>Also from now on everywhere</source>
        <translation>Ab jetzt auch überall</translation>
    </message>
    <message>
        <source>Also from now on in this folder</source>
        <translation>Ab jetzt auch in diesem Ordner</translation>
    </message>
    <message>
        <source>Also from now on in this session</source>
        <translation>Ab jetzt auch in dieser Sitzung</translation>
    </message>
    <message>
        <source>Always allow {0}</source>
        <translation>{0} immer erlauben</translation>
    </message>
    <message>
        <source>At the end of today</source>
        <translation>Am Ende des Tages</translation>
    </message>
    <message>
        <source>Calls of</source>
        <translation>Aufrufe von</translation>
    </message>
    <message>
        <source>Commands that begin with</source>
        <translation>Befehle, die beginnen mit</translation>
    </message>
    <message>
        <source>Edits of</source>
        <translation>Bearbeitungen von</translation>
    </message>
    <message>
        <source>Ends</source>
        <translation>Endet</translation>
    </message>
    <message>
        <source>Exactly this command</source>
        <translation>Genau dieser Befehl</translation>
    </message>
    <message>
        <source>In 1 hour</source>
        <translation>In 1 Stunde</translation>
    </message>
    <message>
        <source>In 30 days</source>
        <translation>In 30 Tagen</translation>
    </message>
    <message>
        <source>In 7 days</source>
        <translation>In 7 Tagen</translation>
    </message>
    <message>
        <source>Never</source>
        <translation>Nie</translation>
    </message>
    <message>
        <source>This rule does not match this request: you would be asked again.</source>
        <translation>Diese Regel passt nicht auf diese Anfrage: Sie würden wieder gefragt.</translation>
    </message>
    <message>
        <source>When the rule ends</source>
        <translation>Wann die Regel endet</translation>
    </message>
    <message numerus="yes">
        <source>You were asked %n times for calls like this.</source>
        <translation>
            <numerusform>Sie wurden %n-mal nach solchen Aufrufen gefragt.</numerusform>
            <numerusform>Sie wurden %n-mal nach solchen Aufrufen gefragt.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>You were asked %n times for commands like this.</source>
        <translation>
            <numerusform>Sie wurden %n-mal nach solchen Befehlen gefragt.</numerusform>
            <numerusform>Sie wurden %n-mal nach solchen Befehlen gefragt.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>You were asked %n times for edits like this.</source>
        <translation>
            <numerusform>Sie wurden %n-mal nach solchen Bearbeitungen gefragt.</numerusform>
            <numerusform>Sie wurden %n-mal nach solchen Bearbeitungen gefragt.</numerusform>
        </translation>
    </message>
    <message>
        <source>all edits</source>
        <translation>alle Bearbeitungen</translation>
    </message>
    <message>
        <source>and</source>
        <translation>und</translation>
    </message>
    <message>
        <source>edits of {0}</source>
        <translation>Bearbeitungen von {0}</translation>
    </message>
    <message>
        <source>{0} outside the sandbox</source>
        <translation>{0} außerhalb der Sandbox</translation>
    </message>
    <message>
        <source>“{0}” and {1} more</source>
        <translation>„{0}“ und {1} weitere</translation>
    </message>
    <message>
        <source>“{0}” and “{1}”</source>
        <translation>„{0}“ und „{1}“</translation>
    </message>
</context>
<context>
    <name>RulePreview</name>
    <message>
        <source>Would have been allowed</source>
        <translation>Wäre erlaubt worden</translation>
    </message>
    <message>
        <source>Would still ask</source>
        <translation>Würde weiterhin fragen</translation>
    </message>
</context>
<context>
    <name>RuleRow</name>
    <message>
        <source>Allow</source>
        <translation>Erlauben</translation>
    </message>
    <message>
        <source>Ask for</source>
        <translation>Fragen bei</translation>
    </message>
    <message>
        <source>Forbid</source>
        <translation>Verbieten</translation>
    </message>
    <message>
        <source>Made {0}
{1}</source>
        <translation>Erstellt {0}
{1}</translation>
    </message>
    <message>
        <source>Revoke</source>
        <translation>Widerrufen</translation>
    </message>
    <message>
        <source>Revoke the rule for {0}</source>
        <translation>Regel für {0} widerrufen</translation>
    </message>
    <message>
        <source>The next such call asks again</source>
        <translation>Beim nächsten solchen Aufruf wird wieder gefragt</translation>
    </message>
    <message>
        <source>calls of</source>
        <translation>Aufrufe von</translation>
    </message>
    <message>
        <source>edits of</source>
        <translation>Bearbeitungen von</translation>
    </message>
    <message>
        <source>ended {0}</source>
        <translation>endete {0}</translation>
    </message>
    <message>
        <source>ends {0}</source>
        <translation>endet {0}</translation>
    </message>
    <message>
        <source>everywhere</source>
        <translation>überall</translation>
    </message>
    <message>
        <source>exactly</source>
        <translation>genau</translation>
    </message>
    <message>
        <source>outside the sandbox, without a repository, so it does not apply: create it again</source>
        <translation>außerhalb der Sandbox, ohne Repository, gilt daher nicht: bitte neu anlegen</translation>
    </message>
    <message>
        <source>in this folder</source>
        <translation>in diesem Ordner</translation>
    </message>
    <message>
        <source>in this session</source>
        <translation>in dieser Sitzung</translation>
    </message>
    <message>
        <source>made {0}</source>
        <translation>erstellt {0}</translation>
    </message>
    <message>
        <source>never ends</source>
        <translation>endet nie</translation>
    </message>
    <message>
        <source>outside the sandbox</source>
        <translation>außerhalb der Sandbox</translation>
    </message>
    <message>
        <source>outside the sandbox, in {0}</source>
        <translation>außerhalb der Sandbox, in {0}</translation>
    </message>
</context>
<context>
    <name>RulesPage</name>
    <message>
        <source>Filter rules</source>
        <translation>Regeln filtern</translation>
    </message>
    <message>
        <source>No rule matches.</source>
        <translation>Keine Regel passt.</translation>
    </message>
    <message>
        <source>There are no rules. To add one, choose something other than “Only this once” when you are asked.</source>
        <translation>Es gibt keine Regeln. Um eine anzulegen, wählen Sie bei einer Frage etwas anderes als „Nur dieses eine Mal“.</translation>
    </message>
    <message>
        <source>What your earlier answers allow without asking, in the session shown.</source>
        <translation>Was Ihre früheren Antworten in der angezeigten Sitzung ohne Frage erlauben.</translation>
    </message>
</context>
<context>
    <name>SamplingCard</name>
    <message>
        <source>A million input and output tokens cost {price}.</source>
        <translation>Eine Million gelesener und geschriebener Token kostet {price}.</translation>
    </message>
    <message>
        <source>Allow in this session</source>
        <translation>In dieser Sitzung erlauben</translation>
    </message>
    <message>
        <source>Allow once</source>
        <translation>Einmal erlauben</translation>
    </message>
    <message>
        <source>Deny</source>
        <translation>Ablehnen</translation>
    </message>
    <message>
        <source>The cost is not known.</source>
        <translation>Die Kosten sind nicht bekannt.</translation>
    </message>
    <message>
        <source>The server may ask the model without asking you until the session is closed</source>
        <translation>Der Server darf das Modell ohne Rückfrage fragen, bis die Sitzung geschlossen wird</translation>
    </message>
    <message>
        <source>The words above are the server&apos;s. The model sees nothing of the conversation and has no tools. Its answer goes to the server.</source>
        <translation>Die Worte oben stammen vom Server. Das Modell sieht nichts von der Unterhaltung und hat keine Werkzeuge. Seine Antwort geht an den Server.</translation>
    </message>
    <message>
        <source>There is no additional cost.</source>
        <translation>Es entstehen keine weiteren Kosten.</translation>
    </message>
    <message>
        <source>What is sent to the model</source>
        <translation>Was an das Modell gesendet wird</translation>
    </message>
    <message>
        <source>{model} answers, with at most {tokens} tokens.</source>
        <translation>{model} antwortet, mit höchstens {tokens} Token.</translation>
    </message>
    <message>
        <source>— As the model —</source>
        <translation>— Als Modell —</translation>
    </message>
    <message>
        <source>— As the user —</source>
        <translation>— Als Nutzer —</translation>
    </message>
    <message>
        <source>— Instructions —</source>
        <translation>— Anweisungen —</translation>
    </message>
</context>
<context>
    <name>SandboxFields</name>
    <message>
        <source>Folders of your home that the server may read</source>
        <translation>Ordner Ihres Benutzerverzeichnisses, die der Server lesen darf</translation>
    </message>
    <message>
        <source>Folders that the server may write</source>
        <translation>Ordner, in die der Server schreiben darf</translation>
    </message>
    <message>
        <source>Hosts that the server may reach</source>
        <translation>Hosts, die der Server erreichen darf</translation>
    </message>
    <message>
        <source>It reads the open folder (.), without its secrets, and what you list here, separated by commas.</source>
        <translation>Er liest den geöffneten Ordner (.) ohne dessen Geheimnisse und was Sie hier, durch Kommas getrennt, angeben.</translation>
    </message>
    <message>
        <source>May reach</source>
        <translation>Darf erreichen</translation>
    </message>
    <message>
        <source>May read</source>
        <translation>Darf lesen</translation>
    </message>
    <message>
        <source>May write</source>
        <translation>Darf schreiben</translation>
    </message>
    <message>
        <source>None. For example: . (the open folder), ~/notes</source>
        <translation>Keine. Zum Beispiel: . (der geöffnete Ordner), ~/notizen</translation>
    </message>
    <message>
        <source>None. For example: example.org, *.example.org</source>
        <translation>Keine. Zum Beispiel: example.org, *.example.org</translation>
    </message>
    <message>
        <source>None. It reads the open folder and tool chains</source>
        <translation>Keine. Er liest den Ordner und Entwicklungswerkzeuge</translation>
    </message>
    <message>
        <source>Not sandboxed: it runs with all of your rights. Add only what you trust.</source>
        <translation>Nicht eingeschränkt: Er läuft mit allen Ihren Rechten. Fügen Sie nur hinzu, wem Sie vertrauen.</translation>
    </message>
    <message>
        <source>Run the server in the sandbox</source>
        <translation>Den Server in der Sandbox ausführen</translation>
    </message>
    <message>
        <source>Sandbox</source>
        <translation>Sandbox</translation>
    </message>
</context>
<context>
    <name>SaveBar</name>
    <message>
        <source>Discard</source>
        <translation>Verwerfen</translation>
    </message>
    <message>
        <source>Keep editing</source>
        <translation>Weiter bearbeiten</translation>
    </message>
    <message>
        <source>Nothing was written; your text is still here.</source>
        <translation>Es wurde nichts geschrieben; Ihr Text ist noch da.</translation>
    </message>
    <message>
        <source>Overwrite</source>
        <translation>Überschreiben</translation>
    </message>
    <message>
        <source>Overwrite writes your version as a new file; Reload drops it.</source>
        <translation>Überschreiben schreibt Ihre Fassung als neue Datei; Neu laden verwirft sie.</translation>
    </message>
    <message>
        <source>Overwrite writes your version; Reload drops it and shows the file as it is.</source>
        <translation>Überschreiben schreibt Ihre Fassung; Neu laden verwirft sie und zeigt die Datei, wie sie ist.</translation>
    </message>
    <message>
        <source>Reload</source>
        <translation>Neu laden</translation>
    </message>
    <message>
        <source>Save</source>
        <translation>Speichern</translation>
    </message>
    <message>
        <source>Show difference</source>
        <translation>Unterschied anzeigen</translation>
    </message>
    <message>
        <source>This file was changed on disk since you began to edit it.</source>
        <translation>Diese Datei wurde auf der Platte geändert, seit Sie sie bearbeiten.</translation>
    </message>
    <message>
        <source>This file was deleted or moved since you began to edit it.</source>
        <translation>Diese Datei wurde gelöscht oder verschoben, seit Sie sie bearbeiten.</translation>
    </message>
    <message>
        <source>Your changes to this file are not saved.</source>
        <translation>Ihre Änderungen an dieser Datei sind nicht gespeichert.</translation>
    </message>
</context>
<context>
    <name>ScaleButtons</name>
    <message>
        <source>100 %</source>
        <translation>100 %</translation>
    </message>
    <message>
        <source>Fit</source>
        <translation>Einpassen</translation>
    </message>
    <message>
        <source>Fit it in the window (0)</source>
        <translation>An das Fenster anpassen (0)</translation>
    </message>
    <message>
        <source>Show it at its actual size (1)</source>
        <translation>In Originalgröße anzeigen (1)</translation>
    </message>
</context>
<context>
    <name>ScopeChoice</name>
    <message>
        <source>A modified command can only be allowed once</source>
        <translation>Ein geänderter Befehl kann nur einmal erlaubt werden</translation>
    </message>
    <message>
        <source>Allow</source>
        <translation>Erlauben</translation>
    </message>
    <message>
        <source>Allow once</source>
        <translation>Einmal erlauben</translation>
    </message>
    <message>
        <source>If you allow:</source>
        <translation>Wenn Sie erlauben:</translation>
    </message>
    <message>
        <source>Only this once</source>
        <translation>Nur dieses eine Mal</translation>
    </message>
    <message>
        <source>What to allow</source>
        <translation>Was zu erlauben ist</translation>
    </message>
</context>
<context>
    <name>SearchFilters</name>
    <message>
        <source>About a file</source>
        <translation>Über eine Datei</translation>
    </message>
    <message>
        <source>All folders</source>
        <translation>Alle Ordner</translation>
    </message>
    <message>
        <source>Any time</source>
        <translation>Jederzeit</translation>
    </message>
    <message>
        <source>Any tool</source>
        <translation>Jedes Werkzeug</translation>
    </message>
    <message>
        <source>Changes</source>
        <translation>Änderungen</translation>
    </message>
    <message>
        <source>Commands</source>
        <translation>Befehle</translation>
    </message>
    <message>
        <source>Everything</source>
        <translation>Alles</translation>
    </message>
    <message>
        <source>File</source>
        <translation>Datei</translation>
    </message>
    <message numerus="yes">
        <source>Last %n days</source>
        <translation>
            <numerusform>Letzter Tag</numerusform>
            <numerusform>Letzte %n Tage</numerusform>
        </translation>
    </message>
    <message>
        <source>Last year</source>
        <translation>Letztes Jahr</translation>
    </message>
    <message>
        <source>Outputs</source>
        <translation>Ausgaben</translation>
    </message>
    <message>
        <source>Replies</source>
        <translation>Antworten</translation>
    </message>
    <message>
        <source>Since yesterday</source>
        <translation>Seit gestern</translation>
    </message>
    <message>
        <source>This folder</source>
        <translation>Dieser Ordner</translation>
    </message>
    <message>
        <source>Titles</source>
        <translation>Titel</translation>
    </message>
    <message>
        <source>Tool</source>
        <translation>Werkzeug</translation>
    </message>
    <message>
        <source>What</source>
        <translation>Was</translation>
    </message>
    <message>
        <source>What I wrote</source>
        <translation>Was ich schrieb</translation>
    </message>
    <message>
        <source>When</source>
        <translation>Wann</translation>
    </message>
    <message>
        <source>Where</source>
        <translation>Wo</translation>
    </message>
</context>
<context>
    <name>SearchPage</name>
    <message>
        <source>And {0} more. Type more to narrow the list.</source>
        <translation>Und {0} weitere. Tippen Sie mehr, um die Liste einzugrenzen.</translation>
    </message>
    <message>
        <source>Found settings</source>
        <translation>Gefundene Einstellungen</translation>
    </message>
    <message>
        <source>No setting matches “{0}”.</source>
        <translation>Keine Einstellung passt zu „{0}“.</translation>
    </message>
</context>
<context>
    <name>SearchPanel</name>
    <message numerus="yes">
        <source>%n places</source>
        <translation>
            <numerusform>%n Stelle</numerusform>
            <numerusform>%n Stellen</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n sessions</source>
        <translation>
            <numerusform>%n Sitzung</numerusform>
            <numerusform>%n Sitzungen</numerusform>
        </translation>
    </message>
    <message>
        <source>Finds words in any order and &quot;quoted phrases&quot; as written, newest first.</source>
        <translation>Findet Wörter in beliebiger Reihenfolge und &quot;Wortfolgen&quot; wie geschrieben, Neuestes zuerst.</translation>
    </message>
    <message>
        <source>Nothing found.</source>
        <translation>Nichts gefunden.</translation>
    </message>
    <message>
        <source>Reading what is new…</source>
        <translation>Neues wird gelesen …</translation>
    </message>
    <message>
        <source>Search all sessions</source>
        <translation>Alle Sitzungen durchsuchen</translation>
    </message>
    <message>
        <source>Search prompts, replies, commands, outputs and changes</source>
        <translation>Nachrichten, Antworten, Befehle, Ausgaben und Änderungen durchsuchen</translation>
    </message>
    <message>
        <source>Searching…</source>
        <translation>Sucht …</translation>
    </message>
    <message>
        <source>{0} in {1}</source>
        <translation>{0} in {1}</translation>
    </message>
</context>
<context>
    <name>SectionList</name>
    <message>
        <source>What the model sees, part by part</source>
        <translation>Was das Modell sieht, Teil für Teil</translation>
    </message>
    <message>
        <source>{0}, {1} tokens</source>
        <translation>{0}, {1} Token</translation>
    </message>
    <message>
        <source>{0}, {1} tokens, not sent</source>
        <translation>{0}, {1} Token, nicht gesendet</translation>
    </message>
</context>
<context>
    <name>SelectionBar</name>
    <message numerus="yes">
        <source>%n selected</source>
        <translation>
            <numerusform>%n ausgewählt</numerusform>
            <numerusform>%n ausgewählt</numerusform>
        </translation>
    </message>
    <message>
        <source>Archive</source>
        <translation>Archivieren</translation>
    </message>
    <message>
        <source>Clear</source>
        <translation>Aufheben</translation>
    </message>
    <message>
        <source>Delete…</source>
        <translation>Löschen …</translation>
    </message>
    <message>
        <source>Pin</source>
        <translation>Anheften</translation>
    </message>
    <message>
        <source>Selected sessions</source>
        <translation>Ausgewählte Sitzungen</translation>
    </message>
    <message>
        <source>Unarchive</source>
        <translation>Zurückholen</translation>
    </message>
    <message>
        <source>Unpin</source>
        <translation>Lösen</translation>
    </message>
</context>
<context>
    <name>SentComments</name>
    <message>
        <source>Plan</source>
        <translation>Plan</translation>
    </message>
    <message>
        <source>{0} · line {1}</source>
        <translation>{0} · Zeile {1}</translation>
    </message>
    <message>
        <source>{0} · lines {1}–{2}</source>
        <translation>{0} · Zeilen {1}–{2}</translation>
    </message>
    <message>
        <source>{0} · whole file</source>
        <translation>{0} · ganze Datei</translation>
    </message>
    <message>
        <source>{0}, before the change</source>
        <translation>{0}, vor der Änderung</translation>
    </message>
</context>
<context>
    <name>ServerCard</name>
    <message>
        <source>Calls</source>
        <translation>Aufrufe</translation>
    </message>
    <message>
        <source>Edit the server {0}</source>
        <translation>Den Server {0} bearbeiten</translation>
    </message>
    <message>
        <source>Edit…</source>
        <translation>Bearbeiten …</translation>
    </message>
    <message>
        <source>Hide calls</source>
        <translation>Aufrufe ausblenden</translation>
    </message>
    <message>
        <source>Hide log</source>
        <translation>Protokoll ausblenden</translation>
    </message>
    <message>
        <source>Hide tools</source>
        <translation>Werkzeuge ausblenden</translation>
    </message>
    <message>
        <source>Log</source>
        <translation>Protokoll</translation>
    </message>
    <message>
        <source>Remove the server {0}</source>
        <translation>Den Server {0} entfernen</translation>
    </message>
    <message>
        <source>Remove {0} from your settings?</source>
        <translation>{0} aus Ihren Einstellungen entfernen?</translation>
    </message>
    <message>
        <source>Restart</source>
        <translation>Neu starten</translation>
    </message>
    <message>
        <source>Sign in with the server {0}</source>
        <translation>Beim Server {0} anmelden</translation>
    </message>
    <message>
        <source>Sign in…</source>
        <translation>Anmelden …</translation>
    </message>
    <message>
        <source>Starting…</source>
        <translation>Startet …</translation>
    </message>
    <message>
        <source>Test</source>
        <translation>Testen</translation>
    </message>
    <message>
        <source>The project&apos;s file defines it</source>
        <translation>Die Datei des Projekts legt ihn fest</translation>
    </message>
    <message>
        <source>The test failed. Remove {0} from your settings?</source>
        <translation>Der Test ist fehlgeschlagen. {0} aus den Einstellungen entfernen?</translation>
    </message>
    <message>
        <source>Tools</source>
        <translation>Werkzeuge</translation>
    </message>
    <message>
        <source>Use the server {0}</source>
        <translation>Den Server {0} verwenden</translation>
    </message>
</context>
<context>
    <name>ServerControl</name>
    <message>
        <source>Imported: {0}.</source>
        <translation>Importiert: {0}.</translation>
    </message>
    <message>
        <source>Moved to the keyring: {0}.</source>
        <translation>In den Schlüsselbund verschoben: {0}.</translation>
    </message>
    <message>
        <source>The MCP server {0} failed its test, and was removed from your settings.</source>
        <translation>Der MCP-Server {0} hat seinen Test nicht bestanden und wurde aus Ihren Einstellungen entfernt.</translation>
    </message>
    <message>
        <source>To keep a server that fails, choose “Keep it” before you close the settings.</source>
        <translation>Um einen solchen Server zu behalten, wählen Sie „Behalten“, bevor Sie die Einstellungen schließen.</translation>
    </message>
    <message>
        <source>none</source>
        <translation>keine</translation>
    </message>
</context>
<context>
    <name>ServerForm</name>
    <message>
        <source>Add and test</source>
        <translation>Hinzufügen und testen</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Command</source>
        <translation>Befehl</translation>
    </message>
    <message>
        <source>Command line or address of the server</source>
        <translation>Befehlszeile oder Adresse des Servers</translation>
    </message>
    <message>
        <source>Edit {0}</source>
        <translation>{0} bearbeiten</translation>
    </message>
    <message>
        <source>For example: git</source>
        <translation>Zum Beispiel: git</translation>
    </message>
    <message>
        <source>It needs: {0}</source>
        <translation>Er braucht: {0}</translation>
    </message>
    <message>
        <source>Known servers</source>
        <translation>Bekannte Server</translation>
    </message>
    <message>
        <source>Name</source>
        <translation>Name</translation>
    </message>
    <message>
        <source>Name of the server</source>
        <translation>Name des Servers</translation>
    </message>
    <message>
        <source>New server</source>
        <translation>Neuer Server</translation>
    </message>
    <message>
        <source>Save and test</source>
        <translation>Speichern und testen</translation>
    </message>
    <message>
        <source>Server</source>
        <translation>Server</translation>
    </message>
    <message>
        <source>The server cannot be added: {0}.</source>
        <translation>Der Server kann nicht hinzugefügt werden: {0}.</translation>
    </message>
    <message>
        <source>A server with this name already exists.</source>
        <translation>Es gibt schon einen Server dieses Namens.</translation>
    </message>
    <message>
        <source>Your own</source>
        <translation>Ein eigener</translation>
    </message>
    <message>
        <source>uvx mcp-server-git, or https://…</source>
        <translation>uvx mcp-server-git, oder https://…</translation>
    </message>
</context>
<context>
    <name>ServerNote</name>
    <message>
        <source>Look again</source>
        <translation>Erneut suchen</translation>
    </message>
    <message>
        <source>Looking…</source>
        <translation>Sucht …</translation>
    </message>
</context>
<context>
    <name>ServerQuestionCard</name>
    <message>
        <source>Address</source>
        <translation>Adresse</translation>
    </message>
    <message>
        <source>Decline</source>
        <translation>Ablehnen</translation>
    </message>
    <message>
        <source>Open in browser</source>
        <translation>Im Browser öffnen</translation>
    </message>
    <message>
        <source>Send</source>
        <translation>Senden</translation>
    </message>
    <message>
        <source>The page is at {host} and opens in your browser. What you do there stays there.</source>
        <translation>Die Seite liegt auf {host} und öffnet sich in Ihrem Browser. Was Sie dort tun, bleibt dort.</translation>
    </message>
    <message>
        <source>{server} wrote the words above and gets your answer: write no password or key here.</source>
        <translation>{server} hat die Worte oben geschrieben und bekommt Ihre Antwort: Schreiben Sie hier kein Passwort und keinen Schlüssel.</translation>
    </message>
    <message>
        <source>{server} asks you something</source>
        <translation>{server} fragt Sie etwas</translation>
    </message>
    <message>
        <source>{server} wants you to visit a page</source>
        <translation>{server} möchte, dass Sie eine Seite besuchen</translation>
    </message>
</context>
<context>
    <name>ServerWords</name>
    <message numerus="yes">
        <source>%n tools</source>
        <translation>
            <numerusform>%n Werkzeug</numerusform>
            <numerusform>%n Werkzeuge</numerusform>
        </translation>
    </message>
    <message>
        <source>Failed too often. Restart it once the cause is fixed.</source>
        <translation>Zu oft fehlgeschlagen. Starten Sie ihn neu, wenn die Ursache behoben ist.</translation>
    </message>
    <message>
        <source>Failed. It is tried again when it is needed.</source>
        <translation>Fehlgeschlagen. Ein neuer Versuch folgt, wenn er gebraucht wird.</translation>
    </message>
    <message>
        <source>In plain text in your settings: {0}. To move it to the keyring, choose “Edit…” and save.</source>
        <translation>Im Klartext in Ihren Einstellungen: {0}. Um dies in den Schlüsselbund zu verschieben, wählen Sie „Bearbeiten …“ und speichern Sie.</translation>
    </message>
    <message>
        <source>Not running. It starts when it is needed.</source>
        <translation>Läuft nicht. Startet, wenn er gebraucht wird.</translation>
    </message>
    <message>
        <source>Running</source>
        <translation>Läuft</translation>
    </message>
    <message>
        <source>Running. A call needs more permissions: sign in again.</source>
        <translation>Läuft. Ein Aufruf braucht mehr Rechte: Melden Sie sich erneut an.</translation>
    </message>
    <message>
        <source>Switched off. Its tools are not offered to the model.</source>
        <translation>Abgeschaltet. Dem Modell werden seine Werkzeuge nicht angeboten.</translation>
    </message>
    <message>
        <source>Starting…</source>
        <translation>Startet …</translation>
    </message>
    <message>
        <source>Waiting for your answer about the project or the plugin.</source>
        <translation>Wartet auf Ihre Antwort zum Projekt oder zum Plugin.</translation>
    </message>
    <message>
        <source>no tools</source>
        <translation>keine Werkzeuge</translation>
    </message>
    <message>
        <source>protocol {0} ({1})</source>
        <translation>Protokoll {0} ({1})</translation>
    </message>
    <message>
        <source>with a handshake</source>
        <translation>mit Handshake</translation>
    </message>
    <message>
        <source>without a handshake</source>
        <translation>ohne Handshake</translation>
    </message>
    <message>
        <source>{0} of {1}</source>
        <translation>{0} von {1}</translation>
    </message>
    <message numerus="yes">
        <source>{0}, about %n tokens in each request</source>
        <translation>
            <numerusform>{0}, etwa %n Token in jeder Anfrage</numerusform>
            <numerusform>{0}, etwa %n Token in jeder Anfrage</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>ServersPage</name>
    <message>
        <source>Add server…</source>
        <translation>Server hinzufügen …</translation>
    </message>
    <message>
        <source>All files (*)</source>
        <translation>Alle Dateien (*)</translation>
    </message>
    <message>
        <source>Import MCP servers</source>
        <translation>MCP-Server importieren</translation>
    </message>
    <message>
        <source>Import the servers of another tool</source>
        <translation>Die Server eines anderen Programms importieren</translation>
    </message>
    <message>
        <source>Import…</source>
        <translation>Importieren …</translation>
    </message>
    <message>
        <source>JSON files (*.json)</source>
        <translation>JSON-Dateien (*.json)</translation>
    </message>
    <message>
        <source>No servers yet. An MCP server is a program or service that offers the model tools: for a browser, a database, an issue tracker. To add one, enter the command line or the address from its documentation, or import the servers of another tool.</source>
        <translation>Noch gibt es keinen. Ein MCP-Server ist ein Programm oder Dienst, der dem Modell Werkzeuge bietet: für einen Browser, eine Datenbank, ein Ticketsystem. Fügen Sie einen mit der Befehlszeile oder Adresse aus seiner Anleitung hinzu, oder importieren Sie die eines anderen Programms.</translation>
    </message>
</context>
<context>
    <name>SessionActions</name>
    <message>
        <source>Conversations of Claude Code, Codex and Desktop Agent (*.jsonl)</source>
        <translation>Unterhaltungen von Claude Code, Codex und Desktop Agent (*.jsonl)</translation>
    </message>
    <message>
        <source>Export the conversation</source>
        <translation>Unterhaltung exportieren</translation>
    </message>
    <message>
        <source>Import a conversation</source>
        <translation>Unterhaltung importieren</translation>
    </message>
    <message>
        <source>JSON lines, to import elsewhere (*.jsonl)</source>
        <translation>JSON-Zeilen, zum Importieren anderswo (*.jsonl)</translation>
    </message>
    <message>
        <source>Markdown (*.md)</source>
        <translation>Markdown (*.md)</translation>
    </message>
    <message>
        <source>Patch of the changes (*.patch)</source>
        <translation>Patch der Änderungen (*.patch)</translation>
    </message>
    <message>
        <source>Web page (*.html)</source>
        <translation>Webseite (*.html)</translation>
    </message>
</context>
<context>
    <name>SessionChoice</name>
    <message>
        <source>Open a folder</source>
        <translation>Ordner öffnen</translation>
    </message>
</context>
<context>
    <name>SessionDelegate</name>
    <message>
        <source>Title of the session</source>
        <translation>Titel der Sitzung</translation>
    </message>
</context>
<context>
    <name>SessionGroups</name>
    <message>
        <source>Archived</source>
        <translation>Archiviert</translation>
    </message>
    <message>
        <source>Done</source>
        <translation>Erledigt</translation>
    </message>
    <message>
        <source>Earlier this year</source>
        <translation>Früher in diesem Jahr</translation>
    </message>
    <message>
        <source>Failed</source>
        <translation>Fehlgeschlagen</translation>
    </message>
    <message>
        <source>Other folders</source>
        <translation>Andere Ordner</translation>
    </message>
    <message>
        <source>Pinned</source>
        <translation>Angeheftet</translation>
    </message>
    <message>
        <source>The last 30 days</source>
        <translation>Die letzten 30 Tage</translation>
    </message>
    <message>
        <source>The last 7 days</source>
        <translation>Die letzten 7 Tage</translation>
    </message>
    <message>
        <source>This folder</source>
        <translation>Dieser Ordner</translation>
    </message>
    <message>
        <source>Today</source>
        <translation>Heute</translation>
    </message>
    <message>
        <source>Waiting for you</source>
        <translation>Wartet auf Sie</translation>
    </message>
    <message>
        <source>Working</source>
        <translation>In Arbeit</translation>
    </message>
    <message>
        <source>Yesterday</source>
        <translation>Gestern</translation>
    </message>
</context>
<context>
    <name>SessionListModel</name>
    <message>
        <source>Fold the sessions</source>
        <translation>Sitzungen einklappen</translation>
    </message>
    <message>
        <source>Show the sessions</source>
        <translation>Sitzungen anzeigen</translation>
    </message>
    <message>
        <source>{0}, folded, {1}</source>
        <translation>{0}, eingeklappt, {1}</translation>
    </message>
</context>
<context>
    <name>SessionMenu</name>
    <message>
        <source>Archive</source>
        <translation>Archivieren</translation>
    </message>
    <message>
        <source>Bring back…</source>
        <translation>Zurückholen …</translation>
    </message>
    <message>
        <source>Copy link</source>
        <translation>Link kopieren</translation>
    </message>
    <message>
        <source>Copy the command that continues it in {0}</source>
        <translation>Befehl zum Weitermachen in {0} kopieren</translation>
    </message>
    <message>
        <source>Delete…</source>
        <translation>Löschen …</translation>
    </message>
    <message>
        <source>Export…</source>
        <translation>Exportieren …</translation>
    </message>
    <message>
        <source>Make a copy</source>
        <translation>Kopie anlegen</translation>
    </message>
    <message>
        <source>Open</source>
        <translation>Öffnen</translation>
    </message>
    <message>
        <source>Open in a new window</source>
        <translation>In neuem Fenster öffnen</translation>
    </message>
    <message>
        <source>Pin to the top</source>
        <translation>Oben anheften</translation>
    </message>
    <message>
        <source>Rename</source>
        <translation>Umbenennen</translation>
    </message>
    <message>
        <source>Select</source>
        <translation>Auswählen</translation>
    </message>
    <message>
        <source>Show in folder</source>
        <translation>Im Ordner anzeigen</translation>
    </message>
    <message>
        <source>Unarchive</source>
        <translation>Aus dem Archiv holen</translation>
    </message>
    <message>
        <source>Unpin</source>
        <translation>Lösen</translation>
    </message>
</context>
<context>
    <name>SessionPanel</name>
    <message>
        <source>+ New</source>
        <translation>+ Neu</translation>
    </message>
    <message>
        <source>Hide archived</source>
        <translation>Archivierte ausblenden</translation>
    </message>
    <message>
        <source>More ways to begin</source>
        <translation>Weitere Arten, zu beginnen</translation>
    </message>
    <message>
        <source>New session</source>
        <translation>Neue Sitzung</translation>
    </message>
    <message>
        <source>No sessions yet. Your first message starts one.</source>
        <translation>Noch keine Sitzungen. Ihre erste Nachricht beginnt eine.</translation>
    </message>
    <message>
        <source>Reading your sessions…</source>
        <translation>Ihre Sitzungen werden gelesen …</translation>
    </message>
    <message>
        <source>Sessions</source>
        <translation>Sitzungen</translation>
    </message>
    <message>
        <source>Show archived ({0})</source>
        <translation>Archivierte anzeigen ({0})</translation>
    </message>
</context>
<context>
    <name>SessionWords</name>
    <message numerus="yes">
        <source>%n turns</source>
        <translation>
            <numerusform>%n Runde</numerusform>
            <numerusform>%n Runden</numerusform>
        </translation>
    </message>
    <message>
        <source>New session</source>
        <translation>Neue Sitzung</translation>
    </message>
    <message>
        <source>archived</source>
        <translation>archiviert</translation>
    </message>
    <message>
        <source>asks</source>
        <translation>fragt</translation>
    </message>
    <message>
        <source>failed</source>
        <translation>fehlgeschlagen</translation>
    </message>
    <message>
        <source>in the worktree {0}</source>
        <translation>im Worktree {0}</translation>
    </message>
    <message>
        <source>is working</source>
        <translation>arbeitet</translation>
    </message>
    <message>
        <source>key refused</source>
        <translation>Schlüssel abgelehnt</translation>
    </message>
    <message>
        <source>no key</source>
        <translation>kein Schlüssel</translation>
    </message>
    <message>
        <source>not signed in</source>
        <translation>nicht angemeldet</translation>
    </message>
    <message>
        <source>pinned</source>
        <translation>angeheftet</translation>
    </message>
    <message>
        <source>runs</source>
        <translation>läuft</translation>
    </message>
    <message>
        <source>selected</source>
        <translation>ausgewählt</translation>
    </message>
    <message>
        <source>sub-agent</source>
        <translation>Unteragent</translation>
    </message>
    <message>
        <source>waits for you</source>
        <translation>wartet auf Sie</translation>
    </message>
</context>
<context>
    <name>SettingRow</name>
    <message>
        <source>Changed. Default: {0}</source>
        <translation>Geändert. Vorgabe: {0}</translation>
    </message>
    <message>
        <source>Reset</source>
        <translation>Zurücksetzen</translation>
    </message>
    <message>
        <source>Reset {0}</source>
        <translation>{0} zurücksetzen</translation>
    </message>
    <message>
        <source>Set by the environment variable {0}, which overrides the file.</source>
        <translation>Von der Umgebungsvariable {0} gesetzt, die der Datei vorgeht.</translation>
    </message>
    <message>
        <source>The project sets this to “{0}”, which applies here.</source>
        <translation>Das Projekt setzt dies auf „{0}“, und das gilt hier.</translation>
    </message>
</context>
<context>
    <name>SettingRows</name>
    <message>
        <source>Advanced</source>
        <translation>Erweitert</translation>
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
        <translation>Ein Tag</translation>
    </message>
    <message>
        <source>A file to which every change is appended as a JSON line.</source>
        <translation>Eine Datei, an die jede Änderung als JSON-Zeile angehängt wird.</translation>
    </message>
    <message>
        <source>A file to which every tool call is appended as a JSON line.</source>
        <translation>Eine Datei, an die jeder Werkzeugaufruf als JSON-Zeile angehängt wird.</translation>
    </message>
    <message>
        <source>A file to which the same data is appended, as lines of OTLP JSON.</source>
        <translation>Eine Datei, an die dieselben Daten als Zeilen in OTLP-JSON angehängt werden.</translation>
    </message>
    <message>
        <source>A file to which the shown tool calls are appended as well.</source>
        <translation>Eine Datei, an die auch die angezeigten Werkzeugaufrufe angehängt werden.</translation>
    </message>
    <message>
        <source>Account</source>
        <translation>Konto</translation>
    </message>
    <message>
        <source>Address</source>
        <translation>Adresse</translation>
    </message>
    <message>
        <source>Allowed tools</source>
        <translation>Erlaubte Werkzeuge</translation>
    </message>
    <message>
        <source>Always</source>
        <translation>Immer</translation>
    </message>
    <message>
        <source>A different address than the provider&apos;s own, for a gateway or proxy. A named account has its own.</source>
        <translation>Eine andere Adresse als die des Anbieters, für ein Gateway oder einen Proxy. Ein Konto mit Namen hat seine eigene.</translation>
    </message>
    <message>
        <source>Answer every tool call without running it.</source>
        <translation>Jeden Werkzeugaufruf beantworten, ohne ihn auszuführen.</translation>
    </message>
    <message>
        <source>Anthropic</source>
        <translation>Anthropic</translation>
    </message>
    <message>
        <source>Appearance</source>
        <translation>Erscheinungsbild</translation>
    </message>
    <message>
        <source>Applies from the next run.</source>
        <translation>Gilt ab dem nächsten Lauf.</translation>
    </message>
    <message>
        <source>Applies to new sessions.</source>
        <translation>Gilt für neue Sitzungen.</translation>
    </message>
    <message>
        <source>Applies when the window is next opened.</source>
        <translation>Gilt, wenn das Fenster das nächste Mal geöffnet wird.</translation>
    </message>
    <message>
        <source>Approvals</source>
        <translation>Freigaben</translation>
    </message>
    <message>
        <source>Asks before every call</source>
        <translation>Fragt vor jedem Aufruf</translation>
    </message>
    <message>
        <source>Asks before writing</source>
        <translation>Fragt vor dem Schreiben</translation>
    </message>
    <message>
        <source>Asks to leave the sandbox</source>
        <translation>Fragt vor dem Verlassen der Sandbox</translation>
    </message>
    <message>
        <source>Audit log</source>
        <translation>Audit-Protokoll</translation>
    </message>
    <message>
        <source>Blocked commands</source>
        <translation>Gesperrte Befehle</translation>
    </message>
    <message>
        <source>Blocked tools</source>
        <translation>Gesperrte Werkzeuge</translation>
    </message>
    <message>
        <source>The names of the servers that are used.</source>
        <translation>Die Namen der Server, die verwendet werden.</translation>
    </message>
    <message>
        <source>Total size of copies</source>
        <translation>Gesamtgröße der Kopien</translation>
    </message>
    <message>
        <source>Turns kept in full</source>
        <translation>Ganz behaltene Runden</translation>
    </message>
    <message>
        <source>What may happen without approval, and how commands are confined.</source>
        <translation>Was ohne Genehmigung geschehen darf, und wie Befehle eingeschränkt werden.</translation>
    </message>
    <message>
        <source>What the agent does without asking. Each session can choose its own below the message field.</source>
        <translation>Was der Agent ohne Rückfrage tut. Jede Sitzung kann unter dem Eingabefeld ihre eigene Wahl treffen.</translation>
    </message>
    <message>
        <source>When the model is overloaded</source>
        <translation>Bei Überlastung des Modells</translation>
    </message>
    <message>
        <source>Where the desktop supports sounds.</source>
        <translation>Wo der Desktop Töne unterstützt.</translation>
    </message>
    <message>
        <source>Which of the provider&apos;s accounts is used. `desktop-agent auth status` lists them.</source>
        <translation>Über welches Konto beim Anbieter dessen Modelle gefragt werden. `desktop-agent auth status` listet sie auf.</translation>
    </message>
    <message>
        <source>Bytes of a result</source>
        <translation>Bytes eines Ergebnisses</translation>
    </message>
    <message>
        <source>Changes made by commands</source>
        <translation>Änderungen durch Befehle</translation>
    </message>
    <message>
        <source>Comfortable</source>
        <translation>Bequem</translation>
    </message>
    <message>
        <source>Command line</source>
        <translation>Befehlszeile</translation>
    </message>
    <message>
        <source>Compact</source>
        <translation>Kompakt</translation>
    </message>
    <message>
        <source>Context window</source>
        <translation>Kontextfenster</translation>
    </message>
    <message>
        <source>Dark</source>
        <translation>Dunkel</translation>
    </message>
    <message>
        <source>Dark, high contrast</source>
        <translation>Dunkel, hoher Kontrast</translation>
    </message>
    <message>
        <source>Data about sessions that is sent to a receiver of yours. By default, nothing is sent.</source>
        <translation>Daten über Sitzungen, die an einen Empfänger Ihrer Wahl gesendet werden. Standardmäßig wird nichts gesendet.</translation>
    </message>
    <message>
        <source>Defaults of `desktop-agent run`. Its own options take precedence.</source>
        <translation>Vorgaben für `desktop-agent run`. Dessen eigene Optionen haben Vorrang.</translation>
    </message>
    <message>
        <source>Demo, without a key</source>
        <translation>Demo, ohne Schlüssel</translation>
    </message>
    <message>
        <source>Density of the conversation</source>
        <translation>Dichte der Unterhaltung</translation>
    </message>
    <message>
        <source>Deutsch</source>
        <translation>Deutsch</translation>
    </message>
    <message>
        <source>Diffs in blue and orange</source>
        <translation>Diffs in Blau und Orange</translation>
    </message>
    <message>
        <source>Dry run</source>
        <translation>Probelauf</translation>
    </message>
    <message>
        <source>Effort</source>
        <translation>Denkaufwand</translation>
    </message>
    <message>
        <source>End the run after the first failed call.</source>
        <translation>Den Lauf nach dem ersten fehlgeschlagenen Aufruf beenden.</translation>
    </message>
    <message>
        <source>English</source>
        <translation>English</translation>
    </message>
    <message>
        <source>Environment variables to pass to commands even if they look like credentials or could lead out of the sandbox, such as `DATABASE_URL`. `desktop-agent doctor` lists those that are withheld.</source>
        <translation>Umgebungsvariablen, die Befehle erhalten, auch wenn sie nach Zugangsdaten aussehen oder aus der Sandbox führen könnten, etwa `DATABASE_URL`. `desktop-agent doctor` listet auf, welche vorenthalten werden.</translation>
    </message>
    <message>
        <source>Export contents</source>
        <translation>Inhalte exportieren</translation>
    </message>
    <message>
        <source>Files and folders in the home folder that commands in the sandbox may read, besides tool chains and their caches. The rest is invisible to them. `~` is the home folder.</source>
        <translation>Dateien und Ordner des Benutzerverzeichnisses, die Befehle in der Sandbox lesen dürfen, zusätzlich zu Entwicklungswerkzeugen und deren Caches. Der Rest ist für sie unsichtbar. `~` ist das Benutzerverzeichnis.</translation>
    </message>
    <message>
        <source>Folders outside the workspace that tools may read and commands may write. `~` is the home folder; relative paths are relative to the settings file.</source>
        <translation>Ordner außerhalb des Arbeitsordners, die Werkzeuge lesen und in die Befehle schreiben dürfen. `~` ist das Benutzerverzeichnis; relative Pfade gelten ab der Einstellungsdatei.</translation>
    </message>
    <message>
        <source>Folders not watched</source>
        <translation>Nicht beobachtete Ordner</translation>
    </message>
    <message>
        <source>GiB</source>
        <translation>GiB</translation>
    </message>
    <message>
        <source>How close together lines and messages stand.</source>
        <translation>Wie eng Zeilen und Nachrichten stehen.</translation>
    </message>
    <message>
        <source>The longest that a command may take, even if its call asks for more.</source>
        <translation>Wie lange ein Befehl höchstens dauern darf, auch wenn sein Aufruf mehr verlangt.</translation>
    </message>
    <message>
        <source>How long a single answer may be. A longer one is cut and can be continued.</source>
        <translation>Wie lang eine einzelne Antwort sein darf. Eine längere wird abgeschnitten und kann fortgesetzt werden.</translation>
    </message>
    <message>
        <source>How long one scan of the workspace may take.</source>
        <translation>Wie lange ein Durchgang durch den Arbeitsordner dauern darf.</translation>
    </message>
    <message>
        <source>How many files are copied before a destructive command. Files beyond that are named but not copied.</source>
        <translation>Wie viele Dateien vor einem zerstörenden Befehl kopiert werden. Weitere Dateien werden genannt, aber nicht kopiert.</translation>
    </message>
    <message>
        <source>How many files are watched.</source>
        <translation>Wie viele Dateien beobachtet werden.</translation>
    </message>
    <message>
        <source>How many lines of a tool&apos;s result the model reads.</source>
        <translation>Wie viele Zeilen vom Ergebnis eines Werkzeugs das Modell liest.</translation>
    </message>
    <message>
        <source>How many of the last turns a summary leaves as they are.</source>
        <translation>Wie viele der letzten Runden eine Zusammenfassung lässt, wie sie sind.</translation>
    </message>
    <message>
        <source>The most requests that one run may send to the model.</source>
        <translation>Wie viele Anfragen ein Lauf höchstens an das Modell sendet.</translation>
    </message>
    <message>
        <source>The context window of models for which it is not known: guidance, conversation and answer together. `desktop-agent models list` shows what is known.</source>
        <translation>Wie viel ein Modell, von dem das nicht anders bekannt ist, auf einmal lesen kann: Anleitung, Unterhaltung und Antwort zusammen. `desktop-agent models list` zeigt, was bekannt ist.</translation>
    </message>
    <message>
        <source>How much is copied before a destructive command.</source>
        <translation>Wie viel vor einem zerstörenden Befehl kopiert wird.</translation>
    </message>
    <message>
        <source>How much may be pinned; pins are sent with every request.</source>
        <translation>Wie viel angeheftet werden darf; Angeheftetes wird mit jeder Anfrage gesendet.</translation>
    </message>
    <message>
        <source>How much of a tool&apos;s result the model reads.</source>
        <translation>Wie viel vom Ergebnis eines Werkzeugs das Modell liest.</translation>
    </message>
    <message>
        <source>How much of a tool&apos;s result the model reads. People see all of it.</source>
        <translation>Wie viel vom Ergebnis eines Werkzeugs das Modell liest. Menschen sehen alles.</translation>
    </message>
    <message>
        <source>How much the model thinks before it answers, in its provider&apos;s term, such as low or high. `desktop-agent models list` shows the levels of each model; a model without this level gets none.</source>
        <translation>Wie viel das Modell nachdenkt, bevor es antwortet, in der Bezeichnung seines Anbieters, etwa low oder high. `desktop-agent models list` zeigt die Stufen jedes Modells; ein Modell ohne diese Stufe erhält keine.</translation>
    </message>
    <message>
        <source>In the conversation and in output.</source>
        <translation>In der Unterhaltung und in Ausgaben.</translation>
    </message>
    <message>
        <source>In the review and in questions.</source>
        <translation>In der Prüfung und in Fragen.</translation>
    </message>
    <message>
        <source>In your message, with the system&apos;s dictionaries for your languages and English, where installed.</source>
        <translation>In Ihrer Nachricht, mit den Wörterbüchern des Systems für Ihre Sprachen und Englisch, soweit installiert.</translation>
    </message>
    <message>
        <source>Keyboard</source>
        <translation>Tastatur</translation>
    </message>
    <message>
        <source>Keys of a diff</source>
        <translation>Tasten eines Vergleichs</translation>
    </message>
    <message>
        <source>Keys of the conversation</source>
        <translation>Tasten der Unterhaltung</translation>
    </message>
    <message>
        <source>Keys of the file viewer</source>
        <translation>Tasten der Dateianzeige</translation>
    </message>
    <message>
        <source>Keys of the message</source>
        <translation>Tasten der Nachricht</translation>
    </message>
    <message>
        <source>Keys of the terminal</source>
        <translation>Tasten des Terminals</translation>
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
        <translation>Sprache</translation>
    </message>
    <message>
        <source>Largest file</source>
        <translation>Größte Datei</translation>
    </message>
    <message>
        <source>Allow a proxy to read requests</source>
        <translation>Einen Proxy mitlesen lassen</translation>
    </message>
    <message>
        <source>Let the model name a session after its first turn, with one small request.</source>
        <translation>Das Modell benennt eine Sitzung nach ihrer ersten Runde, mit einer kleinen Anfrage.</translation>
    </message>
    <message>
        <source>Light</source>
        <translation>Hell</translation>
    </message>
    <message>
        <source>Light, high contrast</source>
        <translation>Hell, hoher Kontrast</translation>
    </message>
    <message>
        <source>Lines of a result</source>
        <translation>Zeilen eines Ergebnisses</translation>
    </message>
    <message>
        <source>Log of changes</source>
        <translation>Protokoll der Änderungen</translation>
    </message>
    <message>
        <source>Log of shown calls</source>
        <translation>Protokoll der angezeigten Aufrufe</translation>
    </message>
    <message>
        <source>Long conversations</source>
        <translation>Lange Unterhaltungen</translation>
    </message>
    <message>
        <source>Longest answer</source>
        <translation>Längste Antwort</translation>
    </message>
    <message>
        <source>Command time limit</source>
        <translation>Zeitlimit für Befehle</translation>
    </message>
    <message>
        <source>MCP servers</source>
        <translation>MCP-Server</translation>
    </message>
    <message>
        <source>Memory of a command</source>
        <translation>Speicher eines Befehls</translation>
    </message>
    <message>
        <source>MiB</source>
        <translation>MiB</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>Modell</translation>
    </message>
    <message>
        <source>Name sessions</source>
        <translation>Sitzungen benennen</translation>
    </message>
    <message>
        <source>Names of folders, anywhere in the workspace, whose content is not watched while a command runs. What changes there cannot be undone.</source>
        <translation>Namen von Ordnern, irgendwo im Arbeitsordner, deren Inhalt nicht beobachtet wird, während ein Befehl läuft. Was sich dort ändert, kann nicht rückgängig gemacht werden.</translation>
    </message>
    <message>
        <source>Never</source>
        <translation>Nie</translation>
    </message>
    <message>
        <source>Never asks</source>
        <translation>Fragt nie</translation>
    </message>
    <message>
        <source>No sandbox</source>
        <translation>Keine Sandbox</translation>
    </message>
    <message>
        <source>Notifications</source>
        <translation>Benachrichtigungen</translation>
    </message>
    <message>
        <source>From the desktop, when something waits for you or a turn ends while the window is not in front.</source>
        <translation>Des Desktops, wenn etwas auf Sie wartet oder eine Runde endet, während das Fenster nicht vorne ist.</translation>
    </message>
    <message>
        <source>The language of the window. The model&apos;s text and the command line are not translated.</source>
        <translation>Die Sprache des Fensters. Texte des Modells und der Befehlszeile werden nicht übersetzt.</translation>
    </message>
    <message>
        <source>Ollama</source>
        <translation>Ollama</translation>
    </message>
    <message>
        <source>A command that runs in each new worktree before its session begins, such as `npm ci`, outside of the sandbox. One that a project sets runs once you trust the project.</source>
        <translation>Ein Befehl, der in jedem neuen Worktree läuft, bevor dessen Sitzung beginnt, etwa `npm ci`, außerhalb der Sandbox. Der eines Projekts läuft, sobald Sie dem Projekt vertrauen.</translation>
    </message>
    <message>
        <source>All that are defined</source>
        <translation>Alle festgelegten</translation>
    </message>
    <message>
        <source>Also run the hooks in your home folder that you set up for Claude Code, Codex, Cursor or Copilot.</source>
        <translation>Auch die Hooks in Ihrem persönlichen Ordner ausführen, die Sie für Claude Code, Codex, Cursor oder Copilot eingerichtet haben.</translation>
    </message>
    <message>
        <source>Amazon Bedrock</source>
        <translation>Amazon Bedrock</translation>
    </message>
    <message>
        <source>An agent of another program</source>
        <translation>Ein Agent eines anderen Programms</translation>
    </message>
    <message>
        <source>Anthropic&apos;s SDK</source>
        <translation>Anthropics SDK</translation>
    </message>
    <message>
        <source>At once</source>
        <translation>Gleichzeitig</translation>
    </message>
    <message>
        <source>Calls written as text</source>
        <translation>Als Text geschriebene Aufrufe</translation>
    </message>
    <message>
        <source>Claude Platform on AWS</source>
        <translation>Claude Platform on AWS</translation>
    </message>
    <message>
        <source>Diagnostics</source>
        <translation>Diagnosen</translation>
    </message>
    <message>
        <source>Errors</source>
        <translation>Fehler</translation>
    </message>
    <message>
        <source>Errors and warnings</source>
        <translation>Fehler und Warnungen</translation>
    </message>
    <message>
        <source>Errors that language servers find in files that the agent changed. The servers run in the sandbox: they read the folder, write nothing and reach no network.</source>
        <translation>Fehler, die Language-Server in Dateien finden, die der Agent geändert hat. Die Server laufen in der Sandbox: Sie lesen den Ordner, schreiben nichts und erreichen kein Netz.</translation>
    </message>
    <message>
        <source>Files of instructions that the model does not get: paths, or globs such as `GEMINI.md` and `.cursor/rules/**`; `**` stands for all. “What the model sees” has a switch for each file.</source>
        <translation>Dateien mit Anweisungen, die das Modell nicht bekommt: Pfade oder Muster wie `GEMINI.md` und `.cursor/rules/**`; `**` steht für alle. „Was das Modell sieht“ hat einen Schalter für jede Datei.</translation>
    </message>
    <message>
        <source>Folders that bundle skills, commands, sub-agents, hooks and MCP servers.</source>
        <translation>Ordner, die Skills, Befehle, Unteragenten, Hooks und MCP-Server bündeln.</translation>
    </message>
    <message>
        <source>Google Vertex AI</source>
        <translation>Google Vertex AI</translation>
    </message>
    <message>
        <source>Let installed language servers check the files that a call of the agent changes.</source>
        <translation>Installierte Language-Server die Dateien prüfen lassen, die ein Aufruf des Agenten geändert hat.</translation>
    </message>
    <message>
        <source>Hooks</source>
        <translation>Hooks</translation>
    </message>
    <message>
        <source>Hooks of other programs</source>
        <translation>Hooks anderer Programme</translation>
    </message>
    <message>
        <source>Hooks switched off</source>
        <translation>Ausgeschaltete Hooks</translation>
    </message>
    <message>
        <source>How long a call waits for running servers. What they find later is reported after a later call.</source>
        <translation>Wie lange ein Aufruf auf laufende Server wartet. Was sie später finden, wird nach einem späteren Aufruf gemeldet.</translation>
    </message>
    <message>
        <source>How many levels of sub-agents there may be. With 1, sub-agents have none of their own.</source>
        <translation>Wie viele Ebenen von Unteragenten es geben darf. Bei 1 haben Unteragenten keine eigenen.</translation>
    </message>
    <message>
        <source>How many sub-agents of a conversation work side by side; further ones wait. 0 offers the model none.</source>
        <translation>Wie viele Unteragenten einer Unterhaltung nebeneinander arbeiten; weitere warten. Bei 0 werden dem Modell keine angeboten.</translation>
    </message>
    <message>
        <source>How much of the model&apos;s context window their names and descriptions may take. What does not fit is shortened; then those that you used longest ago are left out, and the model can search for them.</source>
        <translation>Wie viel vom Kontextfenster des Modells ihre Namen und Beschreibungen einnehmen dürfen. Was nicht passt, wird gekürzt; danach fehlen die, die am längsten nicht benutzt wurden, und das Modell kann nach ihnen suchen.</translation>
    </message>
    <message>
        <source>Instructions</source>
        <translation>Anweisungen</translation>
    </message>
    <message>
        <source>Instructions for particular tasks, which the model reads when it needs them.</source>
        <translation>Anleitungen für bestimmte Aufgaben, die das Modell liest, wenn es sie braucht.</translation>
    </message>
    <message>
        <source>Instructions not sent</source>
        <translation>Nicht gesendete Anweisungen</translation>
    </message>
    <message>
        <source>Language servers switched off</source>
        <translation>Ausgeschaltete Language-Server</translation>
    </message>
    <message>
        <source>Levels</source>
        <translation>Ebenen</translation>
    </message>
    <message>
        <source>Longest wait</source>
        <translation>Längste Wartezeit</translation>
    </message>
    <message>
        <source>Look for updates at</source>
        <translation>Nach Updates suchen bei</translation>
    </message>
    <message>
        <source>Microsoft Foundry</source>
        <translation>Microsoft Foundry</translation>
    </message>
    <message>
        <source>Name the model in commits</source>
        <translation>Das Modell in Commits nennen</translation>
    </message>
    <message>
        <source>Nothing</source>
        <translation>Nichts</translation>
    </message>
    <message>
        <source>One conversation</source>
        <translation>Eine Unterhaltung</translation>
    </message>
    <message>
        <source>Open files of a process</source>
        <translation>Offene Dateien eines Prozesses</translation>
    </message>
    <message>
        <source>OpenAI</source>
        <translation>OpenAI</translation>
    </message>
    <message>
        <source>OpenAI, Chat Completions</source>
        <translation>OpenAI, Chat Completions</translation>
    </message>
    <message>
        <source>OpenRouter</source>
        <translation>OpenRouter</translation>
    </message>
    <message>
        <source>Other folders</source>
        <translation>Andere Ordner</translation>
    </message>
    <message>
        <source>Plugins</source>
        <translation>Plugins</translation>
    </message>
    <message>
        <source>Plugins switched off</source>
        <translation>Ausgeschaltete Plugins</translation>
    </message>
    <message>
        <source>Processes of a command</source>
        <translation>Prozesse eines Befehls</translation>
    </message>
    <message>
        <source>Provider</source>
        <translation>Anbieter</translation>
    </message>
    <message>
        <source>Receiver</source>
        <translation>Empfänger</translation>
    </message>
    <message>
        <source>Requests of a run</source>
        <translation>Anfragen eines Laufs</translation>
    </message>
    <message>
        <source>Requests of a sub-agent</source>
        <translation>Anfragen eines Unteragenten</translation>
    </message>
    <message>
        <source>Requests to Anthropic</source>
        <translation>Anfragen an Anthropic</translation>
    </message>
    <message>
        <source>Room for pins</source>
        <translation>Platz für Angeheftetes</translation>
    </message>
    <message>
        <source>Room for the list of skills</source>
        <translation>Platz für die Liste der Skills</translation>
    </message>
    <message>
        <source>Run hooks</source>
        <translation>Hooks ausführen</translation>
    </message>
    <message>
        <source>Run the commands that are defined for events of a session.</source>
        <translation>Die Befehle ausführen, die für Zeitpunkte einer Sitzung festgelegt sind.</translation>
    </message>
    <message>
        <source>Safety copies</source>
        <translation>Sicherungskopien</translation>
    </message>
    <message>
        <source>Sandbox</source>
        <translation>Sandbox</translation>
    </message>
    <message>
        <source>Sandbox: read-only</source>
        <translation>Sandbox: nur lesen</translation>
    </message>
    <message>
        <source>Sandbox: this folder</source>
        <translation>Sandbox: dieser Ordner</translation>
    </message>
    <message>
        <source>Send requests to an http:// address through a proxy, which can then read the key and the conversation. Without it, such requests are refused.</source>
        <translation>Anfragen an eine http://-Adresse über einen Proxy senden, der dann Schlüssel und Unterhaltung lesen kann. Ohne dies werden solche Anfragen verweigert.</translation>
    </message>
    <message>
        <source>Servers in use</source>
        <translation>Verwendete Server</translation>
    </message>
    <message>
        <source>Set-up of worktrees</source>
        <translation>Einrichtung von Worktrees</translation>
    </message>
    <message>
        <source>Show every tool call on standard error.</source>
        <translation>Jeden Werkzeugaufruf auf der Standardfehlerausgabe anzeigen.</translation>
    </message>
    <message>
        <source>Show tool calls</source>
        <translation>Werkzeugaufrufe anzeigen</translation>
    </message>
    <message>
        <source>Size of chat text</source>
        <translation>Größe des Unterhaltungstextes</translation>
    </message>
    <message>
        <source>Size of code</source>
        <translation>Größe von Code</translation>
    </message>
    <message>
        <source>Size of diffs</source>
        <translation>Größe von Diffs</translation>
    </message>
    <message>
        <source>Size of the interface</source>
        <translation>Größe der Bedienoberfläche</translation>
    </message>
    <message>
        <source>Skills</source>
        <translation>Skills</translation>
    </message>
    <message>
        <source>Skills switched off</source>
        <translation>Ausgeschaltete Skills</translation>
    </message>
    <message>
        <source>Some local models write a tool call into their answer. It counts as a call if there is no other.</source>
        <translation>Manche lokalen Modelle schreiben einen Werkzeugaufruf in ihre Antwort. Er zählt als Aufruf, wenn es keinen anderen gibt.</translation>
    </message>
    <message>
        <source>Sound of notifications</source>
        <translation>Ton der Benachrichtigungen</translation>
    </message>
    <message>
        <source>Spending</source>
        <translation>Ausgaben</translation>
    </message>
    <message>
        <source>Start the servers that are defined, and let the model call their tools.</source>
        <translation>Die festgelegten Server starten und das Modell ihre Werkzeuge aufrufen lassen.</translation>
    </message>
    <message>
        <source>Stop at the first failure</source>
        <translation>Beim ersten Fehlschlag anhalten</translation>
    </message>
    <message>
        <source>Sub-agents</source>
        <translation>Unteragenten</translation>
    </message>
    <message>
        <source>Summarise automatically</source>
        <translation>Von selbst zusammenfassen</translation>
    </message>
    <message>
        <source>Summarise the older part of a conversation when it exceeds the target.</source>
        <translation>Den älteren Teil einer Unterhaltung zusammenfassen, wenn sie das Ziel überschreitet.</translation>
    </message>
    <message>
        <source>Telemetry</source>
        <translation>Telemetrie</translation>
    </message>
    <message>
        <source>Telemetry file</source>
        <translation>Telemetriedatei</translation>
    </message>
    <message>
        <source>Offer the skills of your home folder, and those of this folder once you trust it, to the model and as slash commands.</source>
        <translation>Dem Modell die Skills aus Ihrem Home-Ordner anbieten und, sobald Sie ihm vertrauen, die aus diesem Ordner, auch als Slash-Befehle.</translation>
    </message>
    <message>
        <source>The address of the latest release, as GitHub and Forgejo offer it: `https://…/releases/latest`. The window asks it once a day, tells you of a newer version, and installs nothing. Without an address, it asks nobody.</source>
        <translation>Die Adresse der neuesten Veröffentlichung, wie GitHub und Forgejo sie anbieten: `https://…/releases/latest`. Das Fenster fragt sie einmal am Tag, meldet eine neuere Version und installiert nichts. Ohne Adresse fragt es niemanden.</translation>
    </message>
    <message>
        <source>Hooks to switch off, by their digests.</source>
        <translation>Auszuschaltende Hooks, mit ihren Prüfsummen.</translation>
    </message>
    <message>
        <source>The keys for this action, in the whole window.</source>
        <translation>Die Tasten für diese Aktion, im ganzen Fenster.</translation>
    </message>
    <message>
        <source>The keys for this action, in this part of the window.</source>
        <translation>Die Tasten für diese Aktion, in diesem Teil des Fensters.</translation>
    </message>
    <message>
        <source>The keys of each action of the window, such as `Ctrl+Shift+F`, or `Ctrl+K Ctrl+S` for two pressed one after the other. An empty list means no keys. If your keys are another action&apos;s defaults, yours win.</source>
        <translation>Die Tasten jeder Aktion des Fensters, wie `Ctrl+Shift+F`, oder nacheinander wie `Ctrl+K Ctrl+S`. Eine leere Liste bedeutet: keine Tasten. Haben zwei Aktionen dieselben Tasten, behält sie die, der Sie sie gegeben haben.</translation>
    </message>
    <message>
        <source>The keys of this part of the window, where they take precedence over those that work everywhere.</source>
        <translation>Die Tasten dieses Teils des Fensters, wo sie Vorrang vor denen haben, die überall wirken.</translation>
    </message>
    <message>
        <source>The model, as PROVIDER/NAME, that answers a request when the usual one is still overloaded after all retries. The conversation says so; the next request goes to the usual one again.</source>
        <translation>Das Modell, als ANBIETER/NAME, das eine Anfrage beantwortet, wenn das übliche nach allen Versuchen noch überlastet ist. Die Unterhaltung weist darauf hin; die nächste Anfrage geht wieder an das übliche.</translation>
    </message>
    <message>
        <source>The model&apos;s name at its provider.</source>
        <translation>Der Name des Modells bei seinem Anbieter.</translation>
    </message>
    <message>
        <source>Also export prompts, answers, and the arguments and results of calls: the beginning of each, without anything that looks like a key. Anyone who can read the receiver&apos;s data can then read the conversation.</source>
        <translation>Auch Nachrichten, Antworten und Ein- und Ausgaben von Aufrufen exportieren: jeweils den Anfang, ohne das, was wie ein Schlüssel aussieht. Wer den Empfänger liest, kann dann die Unterhaltung lesen.</translation>
    </message>
    <message>
        <source>Animations</source>
        <translation>Animationen</translation>
    </message>
    <message>
        <source>As soon as they arrive, instead of only after Review… on their card in the conversation.</source>
        <translation>Sobald sie eintreffen, statt erst nach „Prüfen …“ auf ihrer Karte in der Unterhaltung.</translation>
    </message>
    <message>
        <source>Before display scaling.</source>
        <translation>Vor der Skalierung des Bildschirms.</translation>
    </message>
    <message>
        <source>Beginnings of commands that never run, such as `shutdown` or `git push`, also behind wrappers and inside pipes.</source>
        <translation>Anfänge von Befehlen, die nie ausgeführt werden, etwa `shutdown` oder `git push`, auch hinter Hilfsprogrammen und in Pipes.</translation>
    </message>
    <message>
        <source>Blinking carets, pulsing marks, sliding docks and menus. Nothing is conveyed by animation alone.</source>
        <translation>Blinkende Schreibmarken, pulsierende Zeichen, gleitende Leisten und Menüs. Nichts wird nur durch Bewegung mitgeteilt.</translation>
    </message>
    <message>
        <source>Files in a safety copy</source>
        <translation>Dateien in einer Sicherungskopie</translation>
    </message>
    <message>
        <source>For names, lists, buttons and menus, before display scaling.</source>
        <translation>Für Namen, Listen, Knöpfe und Menüs, vor der Skalierung des Bildschirms.</translation>
    </message>
    <message>
        <source>How commands are confined. Without a sandbox, nothing confines them, and every command asks first.</source>
        <translation>Wie Befehle eingeschränkt werden. Ohne Sandbox schränkt sie nichts ein, und vor jedem Befehl wird gefragt.</translation>
    </message>
    <message>
        <source>How many files each process of a command may have open at once. The system enforces this limit.</source>
        <translation>Wie viele Dateien jeder Prozess eines Befehls zugleich offen haben darf. Das System erzwingt dieses Limit.</translation>
    </message>
    <message>
        <source>How many processes a command may have at once, including those that they start. A command with more, or with four times as many threads, is stopped.</source>
        <translation>Wie viele Prozesse ein Befehl zugleich haben darf, mit allen, die sie starten. Einer mit mehr, oder mit viermal so vielen Threads, wird angehalten.</translation>
    </message>
    <message>
        <source>How much memory all processes of a command may hold together. A command that holds more is stopped.</source>
        <translation>Wie viel Speicher alle Prozesse eines Befehls zusammen halten dürfen. Einer mit mehr wird angehalten.</translation>
    </message>
    <message>
        <source>If the definitions of these tools would take more of the model&apos;s context window than this, the model gets a tool search instead, and the tools that it finds. 0 always uses the search, 100 never does.</source>
        <translation>Wenn ihre Definitionen mehr vom Kontextfenster des Modells brauchen als dies, erhält das Modell stattdessen eine Suche nach Werkzeugen und die damit gefundenen Werkzeuge. 0 nutzt immer die Suche, 100 nie.</translation>
    </message>
    <message>
        <source>Instead of green and red, for people who cannot tell these apart.</source>
        <translation>Statt Grün und Rot, für alle, die diese nicht unterscheiden können.</translation>
    </message>
    <message>
        <source>Light or dark, with more contrast for people who need it. A contrast setting of the system applies, too.</source>
        <translation>Hell oder dunkel, mit mehr Kontrast für alle, die ihn brauchen. Auch eine Kontrasteinstellung des Systems gilt.</translation>
    </message>
    <message>
        <source>Scan time limit</source>
        <translation>Zeitlimit für Durchläufe</translation>
    </message>
    <message>
        <source>Room for server tools</source>
        <translation>Platz für die Werkzeuge von Servern</translation>
    </message>
    <message>
        <source>Same as system</source>
        <translation>Wie das System</translation>
    </message>
    <message>
        <source>Show questions in a dialog</source>
        <translation>Fragen in einem Dialog öffnen</translation>
    </message>
    <message>
        <source>Size of a safety copy</source>
        <translation>Größe einer Sicherungskopie</translation>
    </message>
    <message>
        <source>Target size</source>
        <translation>Zielgröße</translation>
    </message>
    <message>
        <source>The address that spans and metrics are sent to, as OTLP over HTTP, such as `http://localhost:4318`. They say what turns, requests and calls there were, and how long they took. Without an address or a file, there is no telemetry.</source>
        <translation>Wohin Spans und Metriken gesendet werden, als OTLP über HTTP, etwa `http://localhost:4318`: wie lange Runden, Anfragen und Aufrufe dauerten, und welche es waren. Ohne Empfänger und ohne Datei wird nichts gesendet.</translation>
    </message>
    <message>
        <source>The largest file that is copied.</source>
        <translation>Die größte Datei, die kopiert wird.</translation>
    </message>
    <message>
        <source>The look of the window, and its notifications.</source>
        <translation>Das Aussehen des Fensters und seine Benachrichtigungen.</translation>
    </message>
    <message>
        <source>The model&apos;s provider</source>
        <translation>Der Anbieter des Modells</translation>
    </message>
    <message>
        <source>The most that is copied. Files unchanged in git need no copy.</source>
        <translation>Wie viel höchstens kopiert wird. In git unveränderte Dateien brauchen keine Kopie.</translation>
    </message>
    <message>
        <source>The only tools available to a run.</source>
        <translation>Die einzigen Werkzeuge, die ein Lauf hat.</translation>
    </message>
    <message>
        <source>The provider whose model answers. The demo follows a script and needs neither a key nor a network.</source>
        <translation>Der Anbieter, dessen Modell antwortet. Die Demo folgt einem Drehbuch und braucht weder Schlüssel noch Netz.</translation>
    </message>
    <message>
        <source>The same limit in bytes. The smaller of the two applies.</source>
        <translation>Dasselbe Limit in Bytes. Das kleinere der beiden gilt.</translation>
    </message>
    <message>
        <source>The size above which a conversation is summarised.</source>
        <translation>Die Größe einer Unterhaltung, ab der sie zusammengefasst wird.</translation>
    </message>
    <message>
        <source>Theme</source>
        <translation>Design</translation>
    </message>
    <message>
        <source>This program</source>
        <translation>Dieses Programm</translation>
    </message>
    <message>
        <source>Tokens of a result</source>
        <translation>Token eines Ergebnisses</translation>
    </message>
    <message>
        <source>Tool results</source>
        <translation>Werkzeugergebnisse</translation>
    </message>
    <message>
        <source>Tools that are not available to a run.</source>
        <translation>Werkzeuge, die ein Lauf nicht hat.</translation>
    </message>
    <message>
        <source>Tools that other programs offer.</source>
        <translation>Werkzeuge, die andere Programme bieten.</translation>
    </message>
    <message>
        <source>Who searches the web. This program asks before each search. A provider searches while its model answers, without asking: it sends the search terms to the web, and charges for each search. If the provider has no search, this program&apos;s is used.</source>
        <translation>Wer das Web durchsucht. Dieses Programm fragt vor jeder Suche. Ein Anbieter sucht, während sein Modell antwortet, ohne zu fragen: Wonach das Modell sucht, geht von dort ins Web, und jede Suche wird berechnet. Hat der Anbieter keine Suche, tritt die dieses Programms an ihre Stelle.</translation>
    </message>
    <message>
        <source>set by each call</source>
        <translation>je nach Aufruf</translation>
    </message>
    <message>
        <source>US dollars</source>
        <translation>US-Dollar</translation>
    </message>
    <message>
        <source>Agents that carry out parts of the agent&apos;s work.</source>
        <translation>Agenten, die Teile der Arbeit des Agenten ausführen.</translation>
    </message>
    <message>
        <source>The most requests that a sub-agent may send to the model, unless its role says how many.</source>
        <translation>Wie viele Anfragen ein Unteragent höchstens an das Modell senden darf, wenn seine Rolle nichts anderes sagt.</translation>
    </message>
    <message>
        <source>Language servers to switch off, by name.</source>
        <translation>Auszuschaltende Language-Server, mit Namen.</translation>
    </message>
    <message>
        <source>Plugins to switch off, by name.</source>
        <translation>Auszuschaltende Plugins, mit Namen.</translation>
    </message>
    <message>
        <source>Skills to switch off, by name. They are offered neither to the model nor as slash commands.</source>
        <translation>Auszuschaltende Skills, mit Namen. Sie werden weder dem Modell noch als Slash-Befehle angeboten.</translation>
    </message>
    <message>
        <source>Reported to the model</source>
        <translation>Dem Modell gemeldet</translation>
    </message>
    <message>
        <source>Underline misspelled words</source>
        <translation>Falsch geschriebene Wörter unterstreichen</translation>
    </message>
    <message>
        <source>Use MCP servers</source>
        <translation>MCP-Server verwenden</translation>
    </message>
    <message>
        <source>Use language servers</source>
        <translation>Language-Server verwenden</translation>
    </message>
    <message>
        <source>Use plugins</source>
        <translation>Plugins verwenden</translation>
    </message>
    <message>
        <source>Use skills</source>
        <translation>Skills verwenden</translation>
    </message>
    <message>
        <source>Use the skills, commands, sub-agents, hooks and MCP servers of the plugins that you added, and of those that a trusted project brings.</source>
        <translation>Die Skills, Befehle, Unteragenten, Hooks und MCP-Server der Plugins verwenden, die Sie hinzugefügt haben, und derer, die ein vertrautes Projekt mitbringt.</translation>
    </message>
    <message>
        <source>Variables passed on</source>
        <translation>Durchgereichte Variablen</translation>
    </message>
    <message>
        <source>Visible in the home folder</source>
        <translation>Sichtbar im Benutzerverzeichnis</translation>
    </message>
    <message>
        <source>Watched files</source>
        <translation>Beobachtete Dateien</translation>
    </message>
    <message>
        <source>Web search</source>
        <translation>Websuche</translation>
    </message>
    <message>
        <source>What a conversation may cost before the agent asks whether to go on. Only known costs count.</source>
        <translation>Was eine Unterhaltung kosten darf, bevor der Agent fragt, ob es weitergehen soll. Nur bekannte Kosten zählen.</translation>
    </message>
    <message>
        <source>What all conversations of a day (UTC) may cost together before the agent asks whether to go on.</source>
        <translation>Was alle Unterhaltungen eines Tages (UTC) zusammen kosten dürfen, bevor der Agent fragt, ob es weitergehen soll.</translation>
    </message>
    <message>
        <source>What is watched for changes while a command runs, and so can be undone.</source>
        <translation>Was auf Änderungen beobachtet wird, während ein Befehl läuft, und so rückgängig gemacht werden kann.</translation>
    </message>
    <message>
        <source>What may be spent before the agent asks. Without a window, the agent stops instead.</source>
        <translation>Was ausgegeben werden darf, bevor der Agent fragt. Ohne Fenster hält er stattdessen an.</translation>
    </message>
    <message>
        <source>What the model gets of AGENTS.md, CLAUDE.md and the like.</source>
        <translation>Was das Modell von AGENTS.md, CLAUDE.md und Ähnlichem bekommt.</translation>
    </message>
    <message>
        <source>Which of the new problems in these files are reported to the model.</source>
        <translation>Welche neuen Probleme in diesen Dateien dem Modell gemeldet werden.</translation>
    </message>
    <message>
        <source>When a conversation is summarised, so that it still fits the model.</source>
        <translation>Wann eine Unterhaltung zusammengefasst wird, damit sie noch in das Modell passt.</translation>
    </message>
    <message>
        <source>Which model answers, and how much it thinks.</source>
        <translation>Wer antwortet, und wie viel.</translation>
    </message>
    <message>
        <source>Who sends them. The SDK takes a second longer to start. For clouds and profiles it is always used.</source>
        <translation>Wer sie sendet. Das SDK braucht beim Start eine Sekunde länger. Für Clouds und Profile wird es immer verwendet.</translation>
    </message>
    <message>
        <source>With a line `Assisted-by:` at the end of the message. The sheet of a commit has a tick for it, too.</source>
        <translation>Mit einer Zeile `Assisted-by:` am Ende der Nachricht. Auch im Fenster des Commits lässt sie sich ankreuzen.</translation>
    </message>
    <message>
        <source>Your commands that run at certain events of a session. They run outside the sandbox, as you do.</source>
        <translation>Ihre Befehle, die zu bestimmten Zeitpunkten einer Sitzung laufen. Sie laufen außerhalb der Sandbox, mit Ihren Rechten.</translation>
    </message>
    <message>
        <source>all</source>
        <translation>alle</translation>
    </message>
    <message>
        <source>files</source>
        <translation>Dateien</translation>
    </message>
    <message>
        <source>levels</source>
        <translation>Ebenen</translation>
    </message>
    <message>
        <source>lines</source>
        <translation>Zeilen</translation>
    </message>
    <message>
        <source>llama.cpp</source>
        <translation>llama.cpp</translation>
    </message>
    <message>
        <source>no keys</source>
        <translation>keine Tasten</translation>
    </message>
    <message>
        <source>no limit</source>
        <translation>kein Limit</translation>
    </message>
    <message>
        <source>none</source>
        <translation>keine</translation>
    </message>
    <message>
        <source>nothing</source>
        <translation>nichts</translation>
    </message>
    <message>
        <source>off</source>
        <translation>aus</translation>
    </message>
    <message>
        <source>on</source>
        <translation>an</translation>
    </message>
    <message>
        <source>pixels</source>
        <translation>Pixel</translation>
    </message>
    <message>
        <source>processes</source>
        <translation>Prozesse</translation>
    </message>
    <message>
        <source>requests</source>
        <translation>Anfragen</translation>
    </message>
    <message>
        <source>seconds</source>
        <translation>Sekunden</translation>
    </message>
    <message>
        <source>sub-agents</source>
        <translation>Unteragenten</translation>
    </message>
    <message>
        <source>the model&apos;s own</source>
        <translation>der des Modells</translation>
    </message>
    <message>
        <source>the provider&apos;s own</source>
        <translation>die des Anbieters</translation>
    </message>
    <message>
        <source>the request fails</source>
        <translation>die Anfrage schlägt fehl</translation>
    </message>
    <message>
        <source>the default one</source>
        <translation>das Standardkonto</translation>
    </message>
    <message>
        <source>three quarters of the machine&apos;s memory</source>
        <translation>drei Viertel des Speichers des Rechners</translation>
    </message>
    <message>
        <source>tokens</source>
        <translation>Token</translation>
    </message>
    <message>
        <source>turns</source>
        <translation>Runden</translation>
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
        <translation>Einige Ihrer Einstellungen können nicht verwendet werden. Für sie gelten die vorherigen Werte.</translation>
    </message>
    <message>
        <source>Some of your settings cannot be used. Their defaults apply.</source>
        <translation>Einige Ihrer Einstellungen können nicht verwendet werden. Für sie gelten die Vorgaben.</translation>
    </message>
</context>
<context>
    <name>SettingsDialog</name>
    <message>
        <source>Search settings</source>
        <translation>Einstellungen suchen</translation>
    </message>
    <message>
        <source>Sections</source>
        <translation>Abschnitte</translation>
    </message>
    <message>
        <source>Settings</source>
        <translation>Einstellungen</translation>
    </message>
</context>
<context>
    <name>SettingsFoot</name>
    <message>
        <source>Changes apply and are saved at once.</source>
        <translation>Änderungen gelten sofort und werden sofort gespeichert.</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>Schließen</translation>
    </message>
    <message>
        <source>Open the settings file</source>
        <translation>Einstellungsdatei öffnen</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>Rückgängig machen</translation>
    </message>
    <message>
        <source>{0}: saved, but the environment variable {1} overrides the file.</source>
        <translation>{0}: gespeichert, aber die Umgebungsvariable {1} geht der Datei vor.</translation>
    </message>
</context>
<context>
    <name>SettingsSections</name>
    <message>
        <source>Appearance</source>
        <translation>Erscheinungsbild</translation>
    </message>
    <message>
        <source>Approvals</source>
        <translation>Freigaben</translation>
    </message>
    <message>
        <source>Changes made by commands</source>
        <translation>Änderungen durch Befehle</translation>
    </message>
    <message>
        <source>Command line</source>
        <translation>Befehlszeile</translation>
    </message>
    <message>
        <source>Hooks</source>
        <translation>Hooks</translation>
    </message>
    <message>
        <source>Keyboard</source>
        <translation>Tastatur</translation>
    </message>
    <message>
        <source>Language servers</source>
        <translation>Language-Server</translation>
    </message>
    <message>
        <source>Long conversations</source>
        <translation>Lange Unterhaltungen</translation>
    </message>
    <message>
        <source>MCP servers</source>
        <translation>MCP-Server</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>Modell</translation>
    </message>
    <message>
        <source>Other agents</source>
        <translation>Andere Agenten</translation>
    </message>
    <message>
        <source>Plugins</source>
        <translation>Plugins</translation>
    </message>
    <message>
        <source>Project</source>
        <translation>Projekt</translation>
    </message>
    <message>
        <source>Rules</source>
        <translation>Regeln</translation>
    </message>
    <message>
        <source>Skills</source>
        <translation>Skills</translation>
    </message>
    <message>
        <source>Spending</source>
        <translation>Ausgaben</translation>
    </message>
    <message>
        <source>Telemetry</source>
        <translation>Telemetrie</translation>
    </message>
    <message>
        <source>Tool results</source>
        <translation>Werkzeugergebnisse</translation>
    </message>
</context>
<context>
    <name>ShortcutField</name>
    <message>
        <source>Press the keys</source>
        <translation>Tasten drücken</translation>
    </message>
</context>
<context>
    <name>ShortcutRecorder</name>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Assign</source>
        <translation>Zuweisen</translation>
    </message>
    <message>
        <source>Enter assigns the keys, Esc changes nothing.</source>
        <translation>Die Eingabetaste weist die Tasten zu, Esc ändert nichts.</translation>
    </message>
    <message>
        <source>More keys for “{0}”</source>
        <translation>Weitere Tasten für „{0}“</translation>
    </message>
    <message>
        <source>New keys for “{0}”</source>
        <translation>Neue Tasten für „{0}“</translation>
    </message>
    <message>
        <source>Press the key that follows {0}.</source>
        <translation>Drücken Sie die Taste, die auf {0} folgen soll.</translation>
    </message>
    <message>
        <source>Reassign</source>
        <translation>Neu zuweisen</translation>
    </message>
    <message>
        <source>{0} begins with {1}, and “{2}” would lose that shortcut.</source>
        <translation>{0} beginnt mit {1}, und „{2}“ würde diese Tasten verlieren.</translation>
    </message>
    <message>
        <source>{0} has another action in one part of the window, where that action takes precedence: {1}.</source>
        <translation>{0} hat in einem Teil des Fensters eine andere Aktion, die dort Vorrang hat: {1}.</translation>
    </message>
    <message>
        <source>{0} has another action in text fields, where that action takes precedence.</source>
        <translation>{0} hat in Textfeldern eine andere Aktion, die dort Vorrang hat.</translation>
    </message>
    <message>
        <source>{0} has another action in the whole window: {1}. In this part of the window, the new action takes precedence.</source>
        <translation>{0} hat im ganzen Fenster eine andere Aktion: {1}. In diesem Teil des Fensters hat die neue Aktion Vorrang.</translation>
    </message>
    <message>
        <source>“{1}” would lose {0}, which begins with {2}.</source>
        <translation>„{1}“ würde {0} verlieren, weil diese Tasten mit {2} beginnen.</translation>
    </message>
    <message>
        <source>Then another key…</source>
        <translation>Dann noch eine Taste …</translation>
    </message>
    <message>
        <source>{0} answers the agent&apos;s questions, so it cannot send a message.</source>
        <translation>{0} beantwortet Fragen des Agenten; eine Taste, die eine Nachricht sendet, darf das nicht.</translation>
    </message>
    <message>
        <source>{0} belongs to “{1}”, which would lose it.</source>
        <translation>{0} gehört zu „{1}“ und wäre dort nicht mehr vergeben.</translation>
    </message>
    <message>
        <source>{0} is free.</source>
        <translation>{0} ist frei.</translation>
    </message>
    <message>
        <source>{0} is used for writing. Hold Ctrl, Alt or Meta with it, or take a function key.</source>
        <translation>{0} wird zum Schreiben gebraucht. Halten Sie dabei Strg, Alt oder Meta, oder nehmen Sie eine Funktionstaste.</translation>
    </message>
</context>
<context>
    <name>SignInBar</name>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Dismiss</source>
        <translation>Schließen</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>Erneut versuchen</translation>
    </message>
</context>
<context>
    <name>SignInPanel</name>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Check</source>
        <translation>Prüfen</translation>
    </message>
    <message>
        <source>Check the sign-in</source>
        <translation>Anmeldung prüfen</translation>
    </message>
    <message>
        <source>Sign in again…</source>
        <translation>Erneut anmelden …</translation>
    </message>
    <message>
        <source>Sign in with ChatGPT…</source>
        <translation>Mit ChatGPT anmelden …</translation>
    </message>
    <message>
        <source>Sign in with OpenRouter…</source>
        <translation>Mit OpenRouter anmelden …</translation>
    </message>
    <message>
        <source>Sign-in</source>
        <translation>Anmeldung</translation>
    </message>
    <message>
        <source>Use a profile of Anthropic&apos;s tools</source>
        <translation>Ein Profil von Anthropics Werkzeugen verwenden</translation>
    </message>
</context>
<context>
    <name>SignInWait</name>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Cancel the sign-in with {0}</source>
        <translation>Anmeldung bei {0} abbrechen</translation>
    </message>
    <message>
        <source>Preparing the sign-in…</source>
        <translation>Die Anmeldung wird vorbereitet …</translation>
    </message>
</context>
<context>
    <name>SpellingMarks</name>
    <message>
        <source>Add {word} to the dictionary</source>
        <translation>{word} ins Wörterbuch aufnehmen</translation>
    </message>
    <message>
        <source>No suggestions</source>
        <translation>Keine Vorschläge</translation>
    </message>
</context>
<context>
    <name>SpendingCard</name>
    <message>
        <source>Go on</source>
        <translation>Weitermachen</translation>
    </message>
    <message>
        <source>Stop here</source>
        <translation>Hier aufhören</translation>
    </message>
</context>
<context>
    <name>SubagentBody</name>
    <message>
        <source>Show its conversation</source>
        <translation>Seine Unterhaltung zeigen</translation>
    </message>
</context>
<context>
    <name>SubscriptionStep</name>
    <message>
        <source>A Claude subscription cannot be used here: Anthropic does not permit other applications to sign in with one. Use an API key, or a profile of Anthropic&apos;s own tools (`ant auth login`).</source>
        <translation>Ein Claude-Abonnement kann hier nicht verwendet werden: Anthropic erlaubt anderen Anwendungen nicht, sich damit anzumelden. Verwenden Sie einen API-Schlüssel oder ein Profil von Anthropics eigenen Werkzeugen (`ant auth login`).</translation>
    </message>
    <message>
        <source>Anthropic profile “{0}”</source>
        <translation>Anthropic-Profil „{0}“</translation>
    </message>
    <message>
        <source>Providers allow other programs to use it only in these ways.</source>
        <translation>Anbieter erlauben anderen Programmen die Nutzung nur auf diesen Wegen.</translation>
    </message>
    <message>
        <source>Sign in with ChatGPT</source>
        <translation>Mit ChatGPT anmelden</translation>
    </message>
    <message>
        <source>Sign in…</source>
        <translation>Anmelden …</translation>
    </message>
    <message>
        <source>Use a subscription</source>
        <translation>Abonnement verwenden</translation>
    </message>
    <message>
        <source>Use this profile</source>
        <translation>Dieses Profil verwenden</translation>
    </message>
    <message>
        <source>Your browser opens OpenAI&apos;s page, where you allow this application to use your plan.</source>
        <translation>Ihr Browser öffnet die Seite von OpenAI, auf der Sie dieser Anwendung die Nutzung Ihres Tarifs erlauben.</translation>
    </message>
    <message>
        <source>Your organisation&apos;s API access, through the sign-in of Anthropic&apos;s own tools.</source>
        <translation>API-Zugang Ihrer Organisation, über die Anmeldung der Werkzeuge von Anthropic.</translation>
    </message>
</context>
<context>
    <name>TableControl</name>
    <message>
        <source>Left out: {0}.</source>
        <translation>Ausgelassen: {0}.</translation>
    </message>
</context>
<context>
    <name>Terminal</name>
    <message>
        <source>Ended with code {0}.</source>
        <translation>Beendet mit Code {0}.</translation>
    </message>
    <message>
        <source>Ended.</source>
        <translation>Beendet.</translation>
    </message>
    <message>
        <source>The shell could not be started: {0}. Set SHELL to one that works, and start again.</source>
        <translation>Die Shell konnte nicht gestartet werden: {0}. Setzen Sie SHELL auf eine, die startet, und versuchen Sie es erneut.</translation>
    </message>
    <message>
        <source>There is no terminal on Windows yet. Use one of your own.</source>
        <translation>Unter Windows gibt es noch kein Terminal. Verwenden Sie Ihr eigenes.</translation>
    </message>
</context>
<context>
    <name>TerminalBody</name>
    <message>
        <source>Show all output</source>
        <translation>Gesamte Ausgabe anzeigen</translation>
    </message>
    <message>
        <source>… earlier output</source>
        <translation>… frühere Ausgabe</translation>
    </message>
</context>
<context>
    <name>TerminalDock</name>
    <message>
        <source>Terminal</source>
        <translation>Terminal</translation>
    </message>
</context>
<context>
    <name>TerminalPanel</name>
    <message>
        <source>Attach output</source>
        <translation>Ausgabe anhängen</translation>
    </message>
    <message>
        <source>Attach what is selected, or the last lines, to the message</source>
        <translation>Anhängen, was ausgewählt ist, oder die letzten Zeilen, an die Nachricht</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>Kopieren</translation>
    </message>
    <message>
        <source>Do not paste</source>
        <translation>Nicht einfügen</translation>
    </message>
    <message>
        <source>Find in the terminal</source>
        <translation>Im Terminal suchen</translation>
    </message>
    <message>
        <source>Find…</source>
        <translation>Suchen …</translation>
    </message>
    <message>
        <source>Hide the terminal</source>
        <translation>Terminal ausblenden</translation>
    </message>
    <message>
        <source>Hide. Running programs continue.</source>
        <translation>Ausblenden. Laufende Programme laufen weiter.</translation>
    </message>
    <message>
        <source>The pasted text contains invisible characters; control characters are left out.</source>
        <translation>Der eingefügte Text enthält unsichtbare Zeichen; Steuerzeichen werden ausgelassen.</translation>
    </message>
    <message>
        <source>Open the address</source>
        <translation>Adresse öffnen</translation>
    </message>
    <message>
        <source>Open the file</source>
        <translation>Datei öffnen</translation>
    </message>
    <message>
        <source>Paste</source>
        <translation>Einfügen</translation>
    </message>
    <message>
        <source>Select all</source>
        <translation>Alles auswählen</translation>
    </message>
    <message>
        <source>Start again</source>
        <translation>Erneut starten</translation>
    </message>
    <message>
        <source>Terminal</source>
        <translation>Terminal</translation>
    </message>
    <message>
        <source>Text to paste</source>
        <translation>Text zum Einfügen</translation>
    </message>
</context>
<context>
    <name>TerminalView</name>
    <message>
        <source>Terminal</source>
        <translation>Terminal</translation>
    </message>
</context>
<context>
    <name>TextPage</name>
    <message numerus="yes">
        <source>%n lines</source>
        <translation>
            <numerusform>%n Zeile</numerusform>
            <numerusform>%n Zeilen</numerusform>
        </translation>
    </message>
    <message>
        <source>Find in this file</source>
        <translation>In dieser Datei suchen</translation>
    </message>
    <message>
        <source>Line {0}, column {1}</source>
        <translation>Zeile {0}, Spalte {1}</translation>
    </message>
    <message>
        <source>Text of {0}</source>
        <translation>Text von {0}</translation>
    </message>
    <message>
        <source>Too long to be edited here</source>
        <translation>Zu lang, um hier bearbeitet zu werden</translation>
    </message>
</context>
<context>
    <name>TextWidget</name>
    <message>
        <source>Answer in progress</source>
        <translation>Antwort wird geschrieben</translation>
    </message>
    <message>
        <source>Answer: {text}</source>
        <translation>Antwort: {text}</translation>
    </message>
    <message>
        <source>Ask again, in a copy from before this turn</source>
        <translation>Erneut fragen, in einer Kopie von vor dieser Runde</translation>
    </message>
    <message>
        <source>Copied</source>
        <translation>Kopiert</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>Kopieren</translation>
    </message>
    <message>
        <source>Copy the answer</source>
        <translation>Antwort kopieren</translation>
    </message>
    <message>
        <source>Quote</source>
        <translation>Zitieren</translation>
    </message>
    <message>
        <source>Quote the answer in your message</source>
        <translation>Antwort in Ihrer Nachricht zitieren</translation>
    </message>
    <message>
        <source>Retry</source>
        <translation>Erneut fragen</translation>
    </message>
</context>
<context>
    <name>TextsControl</name>
    <message>
        <source>Add</source>
        <translation>Hinzufügen</translation>
    </message>
    <message>
        <source>Add a folder</source>
        <translation>Ordner hinzufügen</translation>
    </message>
    <message>
        <source>Add an entry</source>
        <translation>Eintrag hinzufügen</translation>
    </message>
    <message>
        <source>Add to {0}</source>
        <translation>Zu {0} hinzufügen</translation>
    </message>
    <message>
        <source>Choose a folder for {0}</source>
        <translation>Ordner für {0} wählen</translation>
    </message>
    <message>
        <source>Choose…</source>
        <translation>Wählen …</translation>
    </message>
    <message>
        <source>New entry for {0}</source>
        <translation>Neuer Eintrag für {0}</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>Entfernen</translation>
    </message>
    <message>
        <source>Remove from {0}</source>
        <translation>Aus {0} entfernen</translation>
    </message>
</context>
<context>
    <name>ThinkingWidget</name>
    <message>
        <source>Thinking…</source>
        <translation>Denkt nach …</translation>
    </message>
    <message>
        <source>Thought</source>
        <translation>Nachgedacht</translation>
    </message>
</context>
<context>
    <name>TodoPanel</name>
    <message>
        <source>All steps are done</source>
        <translation>Alle Schritte sind erledigt</translation>
    </message>
    <message>
        <source>Hide the plan</source>
        <translation>Plan ausblenden</translation>
    </message>
    <message>
        <source>Hide the plan until it changes</source>
        <translation>Plan ausblenden, bis er sich ändert</translation>
    </message>
    <message>
        <source>Hide the steps</source>
        <translation>Schritte ausblenden</translation>
    </message>
    <message>
        <source>Open plan</source>
        <translation>Plan öffnen</translation>
    </message>
    <message>
        <source>Plan</source>
        <translation>Plan</translation>
    </message>
    <message>
        <source>Plan, {0}</source>
        <translation>Plan, {0}</translation>
    </message>
    <message>
        <source>Show all steps</source>
        <translation>Alle Schritte zeigen</translation>
    </message>
</context>
<context>
    <name>ToolBody</name>
    <message>
        <source>Show all output</source>
        <translation>Gesamte Ausgabe anzeigen</translation>
    </message>
</context>
<context>
    <name>ToolRow</name>
    <message numerus="yes">
        <source>%n tokens</source>
        <translation>
            <numerusform>%n Token</numerusform>
            <numerusform>%n Token</numerusform>
        </translation>
    </message>
    <message>
        <source>Use the tool {0}</source>
        <translation>Das Werkzeug {0} verwenden</translation>
    </message>
</context>
<context>
    <name>TopBar</name>
    <message>
        <source>A scripted model answers. Tools, changes and undo are real.</source>
        <translation>Ein Modell nach Drehbuch antwortet. Werkzeuge, Änderungen und Rückgängigmachen sind echt.</translation>
    </message>
    <message>
        <source>Background work, {0} running</source>
        <translation>Im Hintergrund, {0} laufen</translation>
    </message>
    <message>
        <source>Branch {0}</source>
        <translation>Branch {0}</translation>
    </message>
    <message>
        <source>Choose a folder</source>
        <translation>Ordner wählen</translation>
    </message>
    <message>
        <source>Command palette</source>
        <translation>Befehlspalette</translation>
    </message>
    <message>
        <source>Commands</source>
        <translation>Befehle</translation>
    </message>
    <message>
        <source>Demo</source>
        <translation>Demo</translation>
    </message>
    <message>
        <source>Menu</source>
        <translation>Menü</translation>
    </message>
    <message>
        <source>New session</source>
        <translation>Neue Sitzung</translation>
    </message>
    <message>
        <source>Nothing is open yet</source>
        <translation>Noch ist nichts geöffnet</translation>
    </message>
    <message>
        <source>Review</source>
        <translation>Prüfung</translation>
    </message>
    <message>
        <source>Search</source>
        <translation>Suchen</translation>
    </message>
    <message>
        <source>Search all sessions</source>
        <translation>Alle Sitzungen durchsuchen</translation>
    </message>
    <message>
        <source>Settings and more</source>
        <translation>Einstellungen und mehr</translation>
    </message>
    <message>
        <source>This session works in the worktree {0}.
The files in {1} stay as they are.</source>
        <translation>Diese Sitzung arbeitet im Worktree {0}.
Die Dateien in {1} bleiben, wie sie sind.</translation>
    </message>
    <message>
        <source>Workspace folder: {0}</source>
        <translation>Arbeitsordner: {0}</translation>
    </message>
    <message>
        <source>Worktree</source>
        <translation>Worktree</translation>
    </message>
</context>
<context>
    <name>Transcript</name>
    <message numerus="yes">
        <source>%n branches</source>
        <translation>
            <numerusform>Branch {0}</numerusform>
            <numerusform>%n Branches</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n bytes</source>
        <translation>
            <numerusform>%n Byte</numerusform>
            <numerusform>%n Bytes</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n changes</source>
        <translation>
            <numerusform>%n Änderung</numerusform>
            <numerusform>%n Änderungen</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n changes left out</source>
        <translation>
            <numerusform>%n Änderung ausgelassen</numerusform>
            <numerusform>%n Änderungen ausgelassen</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n characters</source>
        <translation>
            <numerusform>%n Zeichen</numerusform>
            <numerusform>%n Zeichen</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n entries</source>
        <translation>
            <numerusform>%n Eintrag</numerusform>
            <numerusform>%n Einträge</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n files</source>
        <translation>
            <numerusform>%n Datei</numerusform>
            <numerusform>%n Dateien</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n hooks ran</source>
        <translation>
            <numerusform>%n Hook lief</numerusform>
            <numerusform>%n Hooks liefen</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n lines</source>
        <translation>
            <numerusform>%n Zeile</numerusform>
            <numerusform>%n Zeilen</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n lines continue for another {0}</source>
        <translation>
            <numerusform>%n Zeile geht noch {0} weiter</numerusform>
            <numerusform>%n Zeilen gehen noch {0} weiter</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n matches</source>
        <translation>
            <numerusform>%n Treffer</numerusform>
            <numerusform>%n Treffer</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n model requests</source>
        <translation>
            <numerusform>%n Modellanfrage</numerusform>
            <numerusform>%n Modellanfragen</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n more changed lines</source>
        <translation>
            <numerusform>%n weitere geänderte Zeile</numerusform>
            <numerusform>%n weitere geänderte Zeilen</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n results</source>
        <translation>
            <numerusform>%n Ergebnis</numerusform>
            <numerusform>%n Ergebnisse</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n stash entries</source>
        <translation>
            <numerusform>%n Stash-Eintrag</numerusform>
            <numerusform>%n Stash-Einträge</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n tags</source>
        <translation>
            <numerusform>Tag {0}</numerusform>
            <numerusform>%n Tags</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n tokens</source>
        <translation>
            <numerusform>%n Token</numerusform>
            <numerusform>%n Token</numerusform>
        </translation>
    </message>
    <message>
        <source>A copy of “{title}” before turn {turn}</source>
        <translation>Eine Kopie von „{title}“ vor Runde {turn}</translation>
    </message>
    <message>
        <source>A copy of “{title}” up to here</source>
        <translation>Eine Kopie von „{title}“ bis hierher</translation>
    </message>
    <message>
        <source>Ask</source>
        <translation>Fragen</translation>
    </message>
    <message>
        <source>Asked: {reason} · {answer}</source>
        <translation>Gefragt: {reason} · {answer}</translation>
    </message>
    <message>
        <source>Brought back {files}</source>
        <translation>{files} zurückgeholt</translation>
    </message>
    <message>
        <source>Changed by hooks: {files}</source>
        <translation>Von Hooks geändert: {files}</translation>
    </message>
    <message>
        <source>Committed {commit} on {branch}: {subject}</source>
        <translation>{commit} auf {branch} committet: {subject}</translation>
    </message>
    <message>
        <source>Create</source>
        <translation>Erstellen</translation>
    </message>
    <message>
        <source>Cut off: the application ended while the agent worked</source>
        <translation>Abgebrochen: Die Anwendung endete, während der Agent arbeitete</translation>
    </message>
    <message>
        <source>Cut off: the application ended while the agent worked, after at least {time}</source>
        <translation>Abgebrochen: Die Anwendung endete, während der Agent arbeitete, nach mindestens {time}</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>Löschen</translation>
    </message>
    <message>
        <source>Done</source>
        <translation>Erledigt</translation>
    </message>
    <message>
        <source>Done after {time}</source>
        <translation>Fertig nach {time}</translation>
    </message>
    <message>
        <source>Edit</source>
        <translation>Bearbeiten</translation>
    </message>
    <message>
        <source>Files went back to before turn {turn}. The conversation stayed.</source>
        <translation>Die Dateien sind auf dem Stand vor Runde {turn}. Die Unterhaltung blieb.</translation>
    </message>
    <message>
        <source>Interrupted</source>
        <translation>Unterbrochen</translation>
    </message>
    <message>
        <source>List</source>
        <translation>Auflisten</translation>
    </message>
    <message>
        <source>Look at</source>
        <translation>Ansehen</translation>
    </message>
    <message>
        <source>Modified by you: {command}</source>
        <translation>Von Ihnen geändert: {command}</translation>
    </message>
    <message>
        <source>Not run: {reason}</source>
        <translation>Nicht ausgeführt: {reason}</translation>
    </message>
    <message>
        <source>Nothing was brought back</source>
        <translation>Nichts wurde zurückgeholt</translation>
    </message>
    <message>
        <source>Nothing was redone</source>
        <translation>Nichts wurde wiederhergestellt</translation>
    </message>
    <message>
        <source>Nothing was undone</source>
        <translation>Nichts wurde rückgängig gemacht</translation>
    </message>
    <message>
        <source>Plan</source>
        <translation>Plan</translation>
    </message>
    <message>
        <source>Reached the limit of {requests}. Send a message to continue.</source>
        <translation>Das Limit von {requests} ist erreicht. Senden Sie eine Nachricht, um weiterzumachen.</translation>
    </message>
    <message>
        <source>Read</source>
        <translation>Lesen</translation>
    </message>
    <message>
        <source>Redid {files}</source>
        <translation>{files} wiederhergestellt</translation>
    </message>
    <message>
        <source>Rename</source>
        <translation>Umbenennen</translation>
    </message>
    <message numerus="yes">
        <source>Review %n more lines…</source>
        <translation>
            <numerusform>%n weitere Zeile prüfen …</numerusform>
            <numerusform>%n weitere Zeilen prüfen …</numerusform>
        </translation>
    </message>
    <message>
        <source>Run</source>
        <translation>Ausführen</translation>
    </message>
    <message>
        <source>Search</source>
        <translation>Suchen</translation>
    </message>
    <message>
        <source>Search the web</source>
        <translation>Im Web suchen</translation>
    </message>
    <message numerus="yes">
        <source>Shortened %n older results for the agent: about {before} tokens became {after}</source>
        <translation>
            <numerusform>%n älteres Ergebnis für den Agenten gekürzt: aus etwa {before} Token wurden {after}</numerusform>
            <numerusform>%n ältere Ergebnisse für den Agenten gekürzt: aus etwa {before} Token wurden {after}</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>Show %n more</source>
        <translation>
            <numerusform>%n weitere anzeigen</numerusform>
            <numerusform>%n weitere anzeigen</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>Show %n more lines</source>
        <translation>
            <numerusform>%n weitere Zeile anzeigen</numerusform>
            <numerusform>%n weitere Zeilen anzeigen</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>Show %n more results</source>
        <translation>
            <numerusform>%n weiteres Ergebnis anzeigen</numerusform>
            <numerusform>%n weitere Ergebnisse anzeigen</numerusform>
        </translation>
    </message>
    <message>
        <source>Starts</source>
        <translation>Startet</translation>
    </message>
    <message>
        <source>Stopped because a limit was reached.</source>
        <translation>Angehalten, weil ein Limit erreicht wurde.</translation>
    </message>
    <message>
        <source>Stopped because a tool failed beyond repair.</source>
        <translation>Angehalten, weil ein Werkzeug unrettbar fehlgeschlagen ist.</translation>
    </message>
    <message>
        <source>Stopped because a tool failed.</source>
        <translation>Angehalten, weil ein Werkzeug fehlgeschlagen ist.</translation>
    </message>
    <message>
        <source>Stopped because the folder cannot be used.</source>
        <translation>Angehalten, weil der Ordner nicht verwendet werden kann.</translation>
    </message>
    <message>
        <source>Stopped because the model could not be asked.</source>
        <translation>Angehalten, weil das Modell nicht gefragt werden konnte.</translation>
    </message>
    <message>
        <source>Stopped because the session could not be saved.</source>
        <translation>Angehalten, weil die Sitzung nicht gespeichert werden konnte.</translation>
    </message>
    <message>
        <source>Stopped by a fault in the application.</source>
        <translation>Angehalten durch einen Fehler in der Anwendung.</translation>
    </message>
    <message>
        <source>Stopped by a hook.</source>
        <translation>Von einem Hook angehalten.</translation>
    </message>
    <message>
        <source>Stopped by you after {time}</source>
        <translation>Von Ihnen angehalten nach {time}</translation>
    </message>
    <message>
        <source>Stopped: an approval was needed and no user could give it.</source>
        <translation>Angehalten: Eine Freigabe war nötig, und niemand konnte sie geben.</translation>
    </message>
    <message>
        <source>Summarised for the agent up to turn {turn}: about {before} tokens became {after}</source>
        <translation>Für den Agenten bis Runde {turn} zusammengefasst: aus etwa {before} Token wurden {after}</translation>
    </message>
    <message>
        <source>The model declined to answer.</source>
        <translation>Das Modell hat die Antwort verweigert.</translation>
    </message>
    <message>
        <source>Recovered: everything that the command destroyed is restored.</source>
        <translation>Zurückgeholt: Alles, was der Befehl zerstört hat, ist wiederhergestellt.</translation>
    </message>
    <message>
        <source>Recovered: everything that was copied is restored.</source>
        <translation>Zurückgeholt: Alles, was kopiert war, ist wiederhergestellt.</translation>
    </message>
    <message>
        <source>Restored {things}</source>
        <translation>{things} wiederhergestellt</translation>
    </message>
    <message>
        <source>Restores {things}</source>
        <translation>Stellt {things} wieder her</translation>
    </message>
    <message>
        <source>Started in the background. The list of background work shows it.</source>
        <translation>Im Hintergrund gestartet. Die Liste der Hintergrundarbeit zeigt ihn.</translation>
    </message>
    <message>
        <source>The summary was undone: the agent sees the whole conversation again.</source>
        <translation>Die Zusammenfassung wurde zurückgenommen: Der Agent sieht wieder die ganze Unterhaltung.</translation>
    </message>
    <message>
        <source>Thinks</source>
        <translation>Denkt nach</translation>
    </message>
    <message>
        <source>This picture cannot be shown here.</source>
        <translation>Dies ist kein Bild, das hier angezeigt werden kann.</translation>
    </message>
    <message>
        <source>This picture is damaged and cannot be shown.</source>
        <translation>Dieses Bild ist beschädigt und kann nicht angezeigt werden.</translation>
    </message>
    <message>
        <source>This picture is too large to be shown.</source>
        <translation>Dieses Bild ist zu groß, um angezeigt zu werden.</translation>
    </message>
    <message>
        <source>Undid the commit {commit}. Its changes are uncommitted again.</source>
        <translation>Den Commit {commit} zurückgenommen. Seine Änderungen sind wieder nicht committet.</translation>
    </message>
    <message>
        <source>Undid {files}</source>
        <translation>{files} rückgängig gemacht</translation>
    </message>
    <message>
        <source>Went back to before turn {turn}, conversation and files.</source>
        <translation>Zurück vor Runde {turn}, Unterhaltung und Dateien.</translation>
    </message>
    <message>
        <source>Went back to before turn {turn}: the agent no longer sees what came after. Files stayed.</source>
        <translation>Zurück vor Runde {turn}: Der Agent sieht nicht mehr, was danach kam. Die Dateien blieben.</translation>
    </message>
    <message>
        <source>Withheld from commands: {names}. To pass them on, add them to the setting “Variables passed on”.</source>
        <translation>Befehlen vorenthalten: {names}. Um sie weiterzugeben, nehmen Sie sie in die Einstellung „Durchgereichte Variablen“ auf.</translation>
    </message>
    <message>
        <source>You denied it.</source>
        <translation>Sie haben abgelehnt.</translation>
    </message>
    <message>
        <source>You denied it: {message}</source>
        <translation>Sie haben abgelehnt: {message}</translation>
    </message>
    <message numerus="yes">
        <source>[%n earlier messages that are not loaded]</source>
        <translation>
            <numerusform>[%n frühere Nachricht, die nicht geladen ist]</numerusform>
            <numerusform>[%n frühere Nachrichten, die nicht geladen sind]</numerusform>
        </translation>
    </message>
    <message>
        <source>allowed from now on: {patterns}</source>
        <translation>ab jetzt erlaubt: {patterns}</translation>
    </message>
    <message>
        <source>allowed in this folder</source>
        <translation>in diesem Ordner erlaubt</translation>
    </message>
    <message>
        <source>allowed in this session</source>
        <translation>in dieser Sitzung erlaubt</translation>
    </message>
    <message>
        <source>allowed it</source>
        <translation>hat es erlaubt</translation>
    </message>
    <message>
        <source>allowed once</source>
        <translation>einmal erlaubt</translation>
    </message>
    <message>
        <source>always allowed</source>
        <translation>immer erlaubt</translation>
    </message>
    <message>
        <source>at the provider</source>
        <translation>beim Anbieter</translation>
    </message>
    <message>
        <source>cancelled</source>
        <translation>abgebrochen</translation>
    </message>
    <message>
        <source>could not be started</source>
        <translation>konnte nicht gestartet werden</translation>
    </message>
    <message>
        <source>cut off</source>
        <translation>abgebrochen</translation>
    </message>
    <message>
        <source>denied</source>
        <translation>abgelehnt</translation>
    </message>
    <message>
        <source>did not run: it has changed</source>
        <translation>lief nicht: er hat sich geändert</translation>
    </message>
    <message>
        <source>done</source>
        <translation>erledigt</translation>
    </message>
    <message>
        <source>exceeded a limit</source>
        <translation>Limit überschritten</translation>
    </message>
    <message>
        <source>exit code {code}</source>
        <translation>Rückgabewert {code}</translation>
    </message>
    <message>
        <source>exit {code}</source>
        <translation>Exit-Code {code}</translation>
    </message>
    <message>
        <source>failed</source>
        <translation>fehlgeschlagen</translation>
    </message>
    <message>
        <source>git&apos;s own files</source>
        <translation>gits eigene Dateien</translation>
    </message>
    <message>
        <source>held it back</source>
        <translation>hat es zurückgehalten</translation>
    </message>
    <message>
        <source>in progress</source>
        <translation>in Arbeit</translation>
    </message>
    <message>
        <source>no branch</source>
        <translation>keinem Branch</translation>
    </message>
    <message>
        <source>no matches</source>
        <translation>keine Treffer</translation>
    </message>
    <message>
        <source>not answered</source>
        <translation>nicht beantwortet</translation>
    </message>
    <message>
        <source>not run</source>
        <translation>nicht ausgeführt</translation>
    </message>
    <message>
        <source>outside the sandbox</source>
        <translation>außerhalb der Sandbox</translation>
    </message>
    <message>
        <source>printed too much</source>
        <translation>gab zu viel aus</translation>
    </message>
    <message>
        <source>ran</source>
        <translation>lief</translation>
    </message>
    <message>
        <source>refused it</source>
        <translation>hat es abgelehnt</translation>
    </message>
    <message>
        <source>running</source>
        <translation>läuft</translation>
    </message>
    <message>
        <source>stopped the turn</source>
        <translation>hat die Runde angehalten</translation>
    </message>
    <message>
        <source>the checked-out commit</source>
        <translation>den ausgecheckten Commit</translation>
    </message>
    <message>
        <source>the staged changes</source>
        <translation>was vorgemerkt war</translation>
    </message>
    <message>
        <source>timed out</source>
        <translation>Zeit abgelaufen</translation>
    </message>
    <message>
        <source>to do</source>
        <translation>zu tun</translation>
    </message>
    <message>
        <source>took too long</source>
        <translation>brauchte zu lange</translation>
    </message>
    <message>
        <source>wants you to decide</source>
        <translation>will, dass Sie entscheiden</translation>
    </message>
    <message>
        <source>was stopped</source>
        <translation>wurde angehalten</translation>
    </message>
    <message>
        <source>{count} more only partly restored</source>
        <translation>{count} weitere nur teilweise wiederhergestellt</translation>
    </message>
    <message>
        <source>waits for you</source>
        <translation>wartet auf Sie</translation>
    </message>
    <message>
        <source>{added} added, {removed} removed</source>
        <translation>{added} hinzugefügt, {removed} entfernt</translation>
    </message>
    <message>
        <source>{changes} in {path}</source>
        <translation>{changes} in {path}</translation>
    </message>
    <message>
        <source>{count} could not be written</source>
        <translation>{count} konnten nicht geschrieben werden</translation>
    </message>
    <message>
        <source>{count} left alone</source>
        <translation>{count} unberührt gelassen</translation>
    </message>
    <message>
        <source>{count} left alone because turn {turn} changed it</source>
        <translation>{count} unberührt gelassen, weil Runde {turn} sie geändert hat</translation>
    </message>
    <message>
        <source>{count} left alone because you changed it</source>
        <translation>{count} unberührt gelassen, weil Sie sie geändert haben</translation>
    </message>
    <message>
        <source>{done} of {all}</source>
        <translation>{done} von {all}</translation>
    </message>
    <message>
        <source>{matches} in {files}</source>
        <translation>{matches} in {files}</translation>
    </message>
    <message>
        <source>{things} and {last}</source>
        <translation>{things} und {last}</translation>
    </message>
    <message>
        <source>{what} of turn {turn}</source>
        <translation>{what} aus Runde {turn}</translation>
    </message>
    <message numerus="yes">
        <source>… %n lines before</source>
        <translation>
            <numerusform>… %n Zeile davor</numerusform>
            <numerusform>… %n Zeilen davor</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>… %n more lines</source>
        <translation>
            <numerusform>… noch %n Zeile</numerusform>
            <numerusform>… noch %n Zeilen</numerusform>
        </translation>
    </message>
    <message>
        <source>⚠ {path} cannot be undone: {reason}</source>
        <translation>⚠ {path} kann nicht rückgängig gemacht werden: {reason}</translation>
    </message>
</context>
<context>
    <name>TranscriptView</name>
    <message>
        <source>Conversation</source>
        <translation>Unterhaltung</translation>
    </message>
</context>
<context>
    <name>TrySheet</name>
    <message>
        <source>Add a model</source>
        <translation>Modell hinzufügen</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Each model works on the same message in its own worktree, from the last commit of {0}. Your files stay as they are until you take something.</source>
        <translation>Jedes Modell bearbeitet dieselbe Nachricht in einem eigenen Worktree, ab dem letzten Commit von {0}. Ihre Dateien bleiben, wie sie sind, bis Sie etwas übernehmen.</translation>
    </message>
    <message>
        <source>It runs in each worktree once its model is done, confined like the agent&apos;s commands. What it changes is undone.</source>
        <translation>Er läuft in jedem Worktree, sobald dessen Modell fertig ist, eingeschränkt wie die Befehle des Agenten. Was er ändert, wird zurückgenommen.</translation>
    </message>
    <message>
        <source>Leave this model out</source>
        <translation>Dieses Modell weglassen</translation>
    </message>
    <message>
        <source>Message</source>
        <translation>Nachricht</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>Modell</translation>
    </message>
    <message>
        <source>Models</source>
        <translation>Modelle</translation>
    </message>
    <message>
        <source>Start</source>
        <translation>Starten</translation>
    </message>
    <message>
        <source>Test command</source>
        <translation>Testbefehl</translation>
    </message>
    <message>
        <source>Try with…</source>
        <translation>Versuchen mit …</translation>
    </message>
</context>
<context>
    <name>UndoBar</name>
    <message numerus="yes">
        <source>%n files</source>
        <translation>
            <numerusform>%n Datei</numerusform>
            <numerusform>%n Dateien</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n files were changed but not recorded: they cannot be undone.</source>
        <translation>
            <numerusform>%n Datei wurde geändert, aber nicht aufgezeichnet: Sie kann nicht rückgängig gemacht werden.</numerusform>
            <numerusform>%n Dateien wurden geändert, aber nicht aufgezeichnet: Sie können nicht rückgängig gemacht werden.</numerusform>
        </translation>
    </message>
    <message>
        <source>Everything is decided</source>
        <translation>Alles ist entschieden</translation>
    </message>
    <message>
        <source>Go to the next undecided change</source>
        <translation>Zur nächsten offenen Änderung gehen</translation>
    </message>
    <message>
        <source>How many of the listed files are kept or undone</source>
        <translation>Wie viele der Dateien in der Liste behalten oder rückgängig gemacht sind</translation>
    </message>
    <message>
        <source>Files that were changed since are left alone and listed.</source>
        <translation>Dateien, die seither geändert wurden, bleiben unberührt und werden aufgelistet.</translation>
    </message>
    <message numerus="yes">
        <source>%n files can be brought back.</source>
        <translation>
            <numerusform>%n Datei kann zurückgeholt werden.</numerusform>
            <numerusform>%n Dateien können zurückgeholt werden.</numerusform>
        </translation>
    </message>
    <message>
        <source>Bring all back</source>
        <translation>Alles zurückholen</translation>
    </message>
    <message>
        <source>Bring back…</source>
        <translation>Zurückholen …</translation>
    </message>
    <message>
        <source>Commit what you keep with git, and nothing else</source>
        <translation>Mit git committen, was Sie behalten, und sonst nichts</translation>
    </message>
    <message>
        <source>Commit…</source>
        <translation>Committen …</translation>
    </message>
    <message>
        <source>Keep all</source>
        <translation>Alle behalten</translation>
    </message>
    <message>
        <source>Keep what is undecided in these files</source>
        <translation>Was in diesen Dateien unentschieden ist, behalten</translation>
    </message>
    <message>
        <source>Keep {0}</source>
        <translation>{0} behalten</translation>
    </message>
    <message>
        <source>Merge what the worktree has into the folder that it was made from</source>
        <translation>Was der Worktree hat, in den Ordner übernehmen, aus dem er gemacht wurde</translation>
    </message>
    <message>
        <source>More ways to undo</source>
        <translation>Weitere Arten, rückgängig zu machen</translation>
    </message>
    <message>
        <source>Next</source>
        <translation>Als Nächstes</translation>
    </message>
    <message>
        <source>Next undecided change</source>
        <translation>Nächste unentschiedene Änderung</translation>
    </message>
    <message>
        <source>Nothing is left to commit</source>
        <translation>Es gibt nichts mehr zu committen</translation>
    </message>
    <message>
        <source>Nothing is left to undo</source>
        <translation>Nichts mehr rückgängig zu machen</translation>
    </message>
    <message>
        <source>Nothing to decide</source>
        <translation>Nichts zu entscheiden</translation>
    </message>
    <message>
        <source>Nothing was brought back yet</source>
        <translation>Noch nichts wurde zurückgeholt</translation>
    </message>
    <message>
        <source>Redo</source>
        <translation>Wiederherstellen</translation>
    </message>
    <message numerus="yes">
        <source>Redo the last undo, in %n files. If it conflicts with your later changes, you are asked.</source>
        <translation>
            <numerusform>Das letzte Rückgängigmachen in %n Datei zurücknehmen. Was Sie seither geändert haben, bleibt, oder Sie werden gefragt.</numerusform>
            <numerusform>Das letzte Rückgängigmachen in %n Dateien zurücknehmen. Was Sie seither geändert haben, bleibt, oder Sie werden gefragt.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>Send %n comments…</source>
        <translation>
            <numerusform>%n Kommentar senden …</numerusform>
            <numerusform>%n Kommentare senden …</numerusform>
        </translation>
    </message>
    <message>
        <source>Take back “{0}” ({1}). The files, and what is staged, stay as they are.</source>
        <translation>„{0}“ ({1}) zurücknehmen. Die Dateien und das Vorgemerkte bleiben, wie sie sind.</translation>
    </message>
    <message numerus="yes">
        <source>The last undo changed %n files.</source>
        <translation>
            <numerusform>Das letzte Rückgängigmachen hat %n Datei geändert.</numerusform>
            <numerusform>Das letzte Rückgängigmachen hat %n Dateien geändert.</numerusform>
        </translation>
    </message>
    <message>
        <source>Undo all</source>
        <translation>Alles rückgängig</translation>
    </message>
    <message>
        <source>Undo commit</source>
        <translation>Commit zurücknehmen</translation>
    </message>
    <message>
        <source>Undo session</source>
        <translation>Sitzung rückgängig</translation>
    </message>
    <message>
        <source>Undo since</source>
        <translation>Seither rückgängig</translation>
    </message>
    <message numerus="yes">
        <source>Undo the changes to %n files. {0}</source>
        <translation>
            <numerusform>%n Datei zurücksetzen. {0}</numerusform>
            <numerusform>%n Dateien zurücksetzen. {0}</numerusform>
        </translation>
    </message>
    <message>
        <source>Undo turn</source>
        <translation>Runde rückgängig</translation>
    </message>
    <message>
        <source>Undo {0}</source>
        <translation>{0} rückgängig machen</translation>
    </message>
    <message>
        <source>{0} of {1} decided</source>
        <translation>{0} von {1} entschieden</translation>
    </message>
    <message>
        <source>{0} was changed but not recorded: it cannot be undone.</source>
        <translation>{0} wurde geändert, aber nicht aufgezeichnet: Es kann nicht rückgängig gemacht werden.</translation>
    </message>
    <message>
        <source>{0} with a message to the agent…</source>
        <translation>{0}, mit Nachricht an den Agenten …</translation>
    </message>
</context>
<context>
    <name>UndoQuestion</name>
    <message numerus="yes">
        <source>%n files</source>
        <translation>
            <numerusform>%n Datei</numerusform>
            <numerusform>%n Dateien</numerusform>
        </translation>
    </message>
    <message>
        <source>A running server&apos;s, or yours: {0}</source>
        <translation>Von einem laufenden Server oder von Ihnen: {0}</translation>
    </message>
    <message>
        <source>Perhaps another session&apos;s: {0}</source>
        <translation>Vielleicht aus einer anderen Sitzung: {0}</translation>
    </message>
    <message>
        <source>Redo brings back what is undone.</source>
        <translation>„Wiederherstellen“ bringt zurück, was rückgängig gemacht wurde.</translation>
    </message>
    <message>
        <source>The agent&apos;s: {0}</source>
        <translation>Vom Agenten: {0}</translation>
    </message>
    <message>
        <source>Not all of these changes are the agent&apos;s.</source>
        <translation>Nicht alle diese Änderungen stammen vom Agenten.</translation>
    </message>
    <message>
        <source>The agent made none of these changes.</source>
        <translation>Keine dieser Änderungen stammt vom Agenten.</translation>
    </message>
    <message>
        <source>These changes are not only the agent&apos;s.</source>
        <translation>Diese Änderungen stammen nicht nur vom Agenten.</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>Rückgängig machen</translation>
    </message>
    <message>
        <source>Undo all of it</source>
        <translation>Alles rückgängig machen</translation>
    </message>
    <message>
        <source>Undo only the agent&apos;s</source>
        <translation>Nur das des Agenten rückgängig machen</translation>
    </message>
    <message>
        <source>Undo only what is undecided</source>
        <translation>Nur Unentschiedenes rückgängig machen</translation>
    </message>
    <message>
        <source>Undo them, too</source>
        <translation>Auch diese rückgängig machen</translation>
    </message>
    <message>
        <source>Undo these kept changes, too?</source>
        <translation>Auch diese behaltenen Änderungen rückgängig machen?</translation>
    </message>
    <message numerus="yes">
        <source>You decided to keep %n changes in {0}.</source>
        <translation>
            <numerusform>Sie haben entschieden, %n Änderung in {0} zu behalten.</numerusform>
            <numerusform>Sie haben entschieden, %n Änderungen in {0} zu behalten.</numerusform>
        </translation>
    </message>
    <message>
        <source>Yours: {0}</source>
        <translation>Von Ihnen: {0}</translation>
    </message>
    <message>
        <source>{0} more</source>
        <translation>{0} weitere</translation>
    </message>
</context>
<context>
    <name>Usage</name>
    <message>
        <source>Calls</source>
        <translation>Aufrufe</translation>
    </message>
    <message>
        <source>Cost</source>
        <translation>Kosten</translation>
    </message>
    <message>
        <source>Day (UTC)</source>
        <translation>Tag (UTC)</translation>
    </message>
    <message>
        <source>Errors</source>
        <translation>Fehler</translation>
    </message>
    <message>
        <source>Failed calls</source>
        <translation>Fehlgeschlagene Aufrufe</translation>
    </message>
    <message>
        <source>Failed turns</source>
        <translation>Fehlgeschlagene Runden</translation>
    </message>
    <message>
        <source>Folder</source>
        <translation>Ordner</translation>
    </message>
    <message>
        <source>MMM yyyy</source>
        <translation>MMM yyyy</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>Modell</translation>
    </message>
    <message>
        <source>No answer is recorded.</source>
        <translation>Keine Antwort ist aufgezeichnet.</translation>
    </message>
    <message>
        <source>No call failed.</source>
        <translation>Kein Aufruf ist fehlgeschlagen.</translation>
    </message>
    <message>
        <source>No call is recorded.</source>
        <translation>Kein Aufruf ist aufgezeichnet.</translation>
    </message>
    <message>
        <source>No request is recorded.</source>
        <translation>Keine Anfrage ist aufgezeichnet.</translation>
    </message>
    <message>
        <source>No turn is recorded.</source>
        <translation>Keine Runde ist aufgezeichnet.</translation>
    </message>
    <message>
        <source>P50 {0}, P95 {1}, P99 {2}, {3} in all, {4} times</source>
        <translation>P50 {0}, P95 {1}, P99 {2}, {3} insgesamt, {4}-mal</translation>
    </message>
    <message>
        <source>Requests</source>
        <translation>Anfragen</translation>
    </message>
    <message>
        <source>Sessions</source>
        <translation>Sitzungen</translation>
    </message>
    <message>
        <source>The price of {0} tokens is not known: the cost is higher.</source>
        <translation>Der Preis von {0} Token ist nicht bekannt: Die Kosten sind höher.</translation>
    </message>
    <message>
        <source>Time</source>
        <translation>Zeit</translation>
    </message>
    <message>
        <source>Tokens read</source>
        <translation>Gelesene Token</translation>
    </message>
    <message>
        <source>Tool</source>
        <translation>Werkzeug</translation>
    </message>
    <message>
        <source>Total time</source>
        <translation>Zeit insgesamt</translation>
    </message>
    <message>
        <source>Turns</source>
        <translation>Runden</translation>
    </message>
    <message>
        <source>Written</source>
        <translation>Geschrieben</translation>
    </message>
    <message>
        <source>cost not known</source>
        <translation>Kosten nicht bekannt</translation>
    </message>
    <message>
        <source>d MMM</source>
        <translation>d. MMM</translation>
    </message>
    <message>
        <source>d MMM yyyy</source>
        <translation>d. MMM yyyy</translation>
    </message>
    <message>
        <source>ddd d MMM yyyy</source>
        <translation>ddd, d. MMM yyyy</translation>
    </message>
    <message>
        <source>fatal</source>
        <translation>unrettbar</translation>
    </message>
    <message>
        <source>for {0} requests</source>
        <translation>für {0} Anfragen</translation>
    </message>
    <message>
        <source>in {0}</source>
        <translation>in {0}</translation>
    </message>
    <message>
        <source>no requests</source>
        <translation>keine Anfragen</translation>
    </message>
    <message>
        <source>not allowed</source>
        <translation>nicht erlaubt</translation>
    </message>
    <message>
        <source>not found</source>
        <translation>nicht gefunden</translation>
    </message>
    <message>
        <source>not known</source>
        <translation>nicht bekannt</translation>
    </message>
    <message>
        <source>not recorded</source>
        <translation>nicht aufgezeichnet</translation>
    </message>
    <message>
        <source>other</source>
        <translation>anderes</translation>
    </message>
    <message>
        <source>other models</source>
        <translation>andere Modelle</translation>
    </message>
    <message>
        <source>tokens, {0} written</source>
        <translation>Token, {0} geschrieben</translation>
    </message>
    <message>
        <source>tool calls</source>
        <translation>Werkzeugaufrufe</translation>
    </message>
    <message>
        <source>tool calls, {0} failed ({1})</source>
        <translation>Werkzeugaufrufe, {0} fehlgeschlagen ({1})</translation>
    </message>
    <message>
        <source>wrong arguments</source>
        <translation>falsche Argumente</translation>
    </message>
    <message>
        <source>{0} in {1} turns, {2} of them failed</source>
        <translation>{0} in {1} Runden, {2} davon fehlgeschlagen</translation>
    </message>
    <message>
        <source>{0} more in the table</source>
        <translation>{0} weitere in der Tabelle</translation>
    </message>
    <message>
        <source>{0} of {1} ({2}): {3}</source>
        <translation>{0} von {1} ({2}): {3}</translation>
    </message>
    <message>
        <source>{0} of {1}, {2}</source>
        <translation>{0} von {1}, {2}</translation>
    </message>
    <message>
        <source>{0} tokens</source>
        <translation>{0} Token</translation>
    </message>
    <message>
        <source>{0} turns, {1} failed</source>
        <translation>{0} Runden, {1} fehlgeschlagen</translation>
    </message>
    <message>
        <source>{0}, {1} tokens without a price</source>
        <translation>{0}, {1} Token ohne Preis</translation>
    </message>
    <message>
        <source>{0}; {1} tokens read, {2} written, {3} requests</source>
        <translation>{0}; {1} Token gelesen, {2} geschrieben, {3} Anfragen</translation>
    </message>
    <message>
        <source>● P50, ○ P95</source>
        <translation>● P50, ○ P95</translation>
    </message>
</context>
<context>
    <name>UsageDisplay</name>
    <message>
        <source>Not all sessions are counted: reading was stopped.</source>
        <translation>Nicht alle Sitzungen sind gezählt: Das Lesen wurde angehalten.</translation>
    </message>
</context>
<context>
    <name>UsagePages</name>
    <message>
        <source>Cost</source>
        <translation>Kosten</translation>
    </message>
    <message>
        <source>Cost over time</source>
        <translation>Kosten im Verlauf</translation>
    </message>
    <message>
        <source>Failed calls</source>
        <translation>Fehlgeschlagene Aufrufe</translation>
    </message>
    <message>
        <source>Time for an answer</source>
        <translation>Zeit bis zur Antwort</translation>
    </message>
    <message>
        <source>Time of a call</source>
        <translation>Dauer eines Aufrufs</translation>
    </message>
    <message>
        <source>Time of turns</source>
        <translation>Dauer der Runden</translation>
    </message>
    <message>
        <source>Tokens over time</source>
        <translation>Token im Verlauf</translation>
    </message>
    <message>
        <source>Usage by day</source>
        <translation>Nutzung nach Tag</translation>
    </message>
    <message>
        <source>Usage by folder</source>
        <translation>Nutzung nach Ordner</translation>
    </message>
    <message>
        <source>Usage by model</source>
        <translation>Nutzung nach Modell</translation>
    </message>
    <message>
        <source>Usage by tool</source>
        <translation>Nutzung nach Werkzeug</translation>
    </message>
</context>
<context>
    <name>UsageProgress</name>
    <message>
        <source>Reading progress</source>
        <translation>Fortschritt beim Lesen</translation>
    </message>
    <message>
        <source>Reading sessions: {0} of {1}</source>
        <translation>Sitzungen werden gelesen: {0} von {1}</translation>
    </message>
    <message>
        <source>Reading sessions…</source>
        <translation>Sitzungen werden gelesen …</translation>
    </message>
    <message>
        <source>Stop reading</source>
        <translation>Lesen anhalten</translation>
    </message>
</context>
<context>
    <name>UsageWindow</name>
    <message>
        <source>All days</source>
        <translation>Alle Tage</translation>
    </message>
    <message>
        <source>By day</source>
        <translation>Nach Tag</translation>
    </message>
    <message>
        <source>By folder</source>
        <translation>Nach Ordner</translation>
    </message>
    <message>
        <source>By model</source>
        <translation>Nach Modell</translation>
    </message>
    <message>
        <source>By tool</source>
        <translation>Nach Werkzeug</translation>
    </message>
    <message>
        <source>Copied {0} rows</source>
        <translation>{0} Zeilen kopiert</translation>
    </message>
    <message>
        <source>Copy as CSV</source>
        <translation>Als CSV kopieren</translation>
    </message>
    <message numerus="yes">
        <source>Last %n days</source>
        <translation>
            <numerusform>Letzter Tag</numerusform>
            <numerusform>Letzte %n Tage</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>Nothing is recorded in the last %n days. Choose a longer period to see more.</source>
        <translation>
            <numerusform>Am letzten Tag ist nichts aufgezeichnet. Wählen Sie einen längeren Zeitraum, um mehr zu sehen.</numerusform>
            <numerusform>In den letzten %n Tagen ist nichts aufgezeichnet. Wählen Sie einen längeren Zeitraum, um mehr zu sehen.</numerusform>
        </translation>
    </message>
    <message>
        <source>Nothing is recorded yet. Ask the agent something, and it is counted here.</source>
        <translation>Noch ist nichts aufgezeichnet. Fragen Sie den Agenten etwas, und es wird hier gezählt.</translation>
    </message>
    <message>
        <source>Period</source>
        <translation>Zeitraum</translation>
    </message>
    <message>
        <source>The table below, with exact figures, for a spreadsheet</source>
        <translation>Die Tabelle darunter, mit genauen Zahlen, für eine Tabellenkalkulation</translation>
    </message>
    <message>
        <source>Usage</source>
        <translation>Nutzung</translation>
    </message>
</context>
<context>
    <name>VariableFields</name>
    <message>
        <source>Another variable</source>
        <translation>Weitere Variable</translation>
    </message>
    <message>
        <source>Name of variable {0}</source>
        <translation>Name der Variable {0}</translation>
    </message>
    <message>
        <source>Value of variable {0}</source>
        <translation>Wert der Variable {0}</translation>
    </message>
    <message>
        <source>Variables</source>
        <translation>Variablen</translation>
    </message>
    <message>
        <source>Variables that are secrets go to the keyring of your system.</source>
        <translation>Geheime Variablen kommen in den Schlüsselbund Ihres Systems.</translation>
    </message>
    <message>
        <source>a variable needs a name</source>
        <translation>eine Variable braucht einen Namen</translation>
    </message>
</context>
<context>
    <name>VariantColumn</name>
    <message numerus="yes">
        <source>%n files</source>
        <translation>
            <numerusform>%n Datei</numerusform>
            <numerusform>%n Dateien</numerusform>
        </translation>
    </message>
    <message>
        <source>Answer</source>
        <translation>Antwort</translation>
    </message>
    <message>
        <source>Changes of {0}</source>
        <translation>Änderungen von {0}</translation>
    </message>
    <message>
        <source>Discard</source>
        <translation>Verwerfen</translation>
    </message>
    <message>
        <source>Move its worktree to the trash, where it stays for a month</source>
        <translation>Seinen Worktree in den Papierkorb legen, wo er einen Monat bleibt</translation>
    </message>
    <message>
        <source>No changes</source>
        <translation>Keine Änderungen</translation>
    </message>
    <message>
        <source>No changes yet</source>
        <translation>Noch keine Änderungen</translation>
    </message>
    <message>
        <source>Not tested</source>
        <translation>Nicht getestet</translation>
    </message>
    <message>
        <source>Open</source>
        <translation>Öffnen</translation>
    </message>
    <message>
        <source>Run the test command again</source>
        <translation>Den Testbefehl noch einmal ausführen</translation>
    </message>
    <message>
        <source>Show its session</source>
        <translation>Seine Sitzung zeigen</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>Anhalten</translation>
    </message>
    <message>
        <source>Stop only this one</source>
        <translation>Nur diese Variante anhalten</translation>
    </message>
    <message>
        <source>Test again</source>
        <translation>Erneut testen</translation>
    </message>
    <message>
        <source>Testing…</source>
        <translation>Testet …</translation>
    </message>
    <message>
        <source>Tests</source>
        <translation>Tests</translation>
    </message>
    <message>
        <source>The last message, or what the tests print</source>
        <translation>Die letzte Nachricht, oder was die Tests ausgeben</translation>
    </message>
    <message>
        <source>Your folder already has all of its changes.</source>
        <translation>Ihr Ordner hat schon alle seine Änderungen.</translation>
    </message>
    <message>
        <source>✓ passed</source>
        <translation>✓ bestanden</translation>
    </message>
    <message>
        <source>✗ failed, code {0}</source>
        <translation>✗ fehlgeschlagen, Code {0}</translation>
    </message>
</context>
<context>
    <name>VariantControl</name>
    <message numerus="yes">
        <source>%n files are taken and in the review</source>
        <translation>
            <numerusform>%n Datei ist übernommen und in der Prüfung</numerusform>
            <numerusform>%n Dateien sind übernommen und in der Prüfung</numerusform>
        </translation>
    </message>
    <message>
        <source>Discarded</source>
        <translation>Verworfen</translation>
    </message>
    <message>
        <source>Done</source>
        <translation>Erledigt</translation>
    </message>
    <message>
        <source>It failed</source>
        <translation>Fehlgeschlagen</translation>
    </message>
    <message>
        <source>It was interrupted. Open it to go on.</source>
        <translation>Unterbrochen. Öffnen Sie die Variante, um weiterzumachen.</translation>
    </message>
    <message>
        <source>Never started, or deleted since</source>
        <translation>Nie begonnen oder inzwischen gelöscht</translation>
    </message>
    <message>
        <source>Making its worktree…</source>
        <translation>Sein Worktree wird angelegt …</translation>
    </message>
    <message>
        <source>Stopped</source>
        <translation>Angehalten</translation>
    </message>
    <message>
        <source>Stopped before it began</source>
        <translation>Angehalten, bevor es begann</translation>
    </message>
    <message>
        <source>Testing…</source>
        <translation>Testet …</translation>
    </message>
    <message>
        <source>Waits for your answer</source>
        <translation>Wartet auf Ihre Antwort</translation>
    </message>
    <message>
        <source>Working…</source>
        <translation>Arbeitet …</translation>
    </message>
</context>
<context>
    <name>VariantsWindow</name>
    <message numerus="yes">
        <source>%n changes are ticked</source>
        <translation>
            <numerusform>%n Änderung ist angehakt</numerusform>
            <numerusform>%n Änderungen sind angehakt</numerusform>
        </translation>
    </message>
    <message>
        <source>Discard the rest</source>
        <translation>Rest verwerfen</translation>
    </message>
    <message>
        <source>Move the worktrees to the trash, where they stay for a month</source>
        <translation>Die Worktrees in den Papierkorb legen, wo sie einen Monat bleiben</translation>
    </message>
    <message>
        <source>Stop all</source>
        <translation>Alle anhalten</translation>
    </message>
    <message>
        <source>Take into the folder</source>
        <translation>In den Ordner übernehmen</translation>
    </message>
    <message>
        <source>Tick what you want to take.</source>
        <translation>Haken Sie an, was Sie übernehmen möchten.</translation>
    </message>
    <message>
        <source>Variants</source>
        <translation>Varianten</translation>
    </message>
</context>
<context>
    <name>Viewer</name>
    <message>
        <source>Its lines are too long to be shown here: {size}. Open it with its application.</source>
        <translation>Ihre Zeilen sind zu lang, um hier angezeigt zu werden: {size}. Öffnen Sie sie mit ihrem Programm.</translation>
    </message>
    <message>
        <source>This file cannot be read: {detail}.</source>
        <translation>Diese Datei kann nicht gelesen werden: {detail}.</translation>
    </message>
    <message>
        <source>This file is outside the open folder, so it is not shown.</source>
        <translation>Diese Datei liegt nicht im geöffneten Ordner und wird daher nicht angezeigt.</translation>
    </message>
    <message>
        <source>This file is no longer there. It was moved or deleted.</source>
        <translation>Diese Datei gibt es nicht mehr. Sie wurde verschoben oder gelöscht.</translation>
    </message>
    <message>
        <source>This file is not text: {kind}, {size}. Open it with its application.</source>
        <translation>Diese Datei ist kein Text: {kind}, {size}. Öffnen Sie sie mit ihrem Programm.</translation>
    </message>
    <message>
        <source>This is not a regular file: it is a folder, a device or a pipe.</source>
        <translation>Dies ist keine Datei mit Inhalt, sondern ein Ordner, ein Gerät oder eine Pipe.</translation>
    </message>
    <message>
        <source>Too large to be shown here: {size}, where {most} is the limit. Open it with its application.</source>
        <translation>Zu groß, um hier angezeigt zu werden: {size}; höchstens {most} sind möglich. Öffnen Sie sie mit ihrem Programm.</translation>
    </message>
</context>
<context>
    <name>ViewerHead</name>
    <message>
        <source>Find</source>
        <translation>Suchen</translation>
    </message>
    <message>
        <source>Go to line</source>
        <translation>Gehe zu Zeile</translation>
    </message>
    <message>
        <source>Open with its application</source>
        <translation>Mit seinem Programm öffnen</translation>
    </message>
    <message>
        <source>Save</source>
        <translation>Speichern</translation>
    </message>
</context>
<context>
    <name>Viewing</name>
    <message>
        <source>A sub-agent works in this session. You can read along.</source>
        <translation>In dieser Sitzung arbeitet ein Unteragent. Sie können mitlesen.</translation>
    </message>
    <message>
        <source>Close it in the other window, then take it over.</source>
        <translation>Schließen Sie sie im anderen Fenster, und übernehmen Sie sie dann.</translation>
    </message>
    <message>
        <source>This session is open in another window. You can read it here.</source>
        <translation>Diese Sitzung ist in einem anderen Fenster geöffnet. Sie können sie hier lesen.</translation>
    </message>
    <message>
        <source>This session is read-only here. Nothing was done.</source>
        <translation>Diese Sitzung ist hier schreibgeschützt. Es wurde nichts getan.</translation>
    </message>
</context>
<context>
    <name>ViewingBar</name>
    <message>
        <source>Take it over to continue it here.</source>
        <translation>Übernehmen Sie sie, um hier weiterzumachen.</translation>
    </message>
    <message>
        <source>Take over</source>
        <translation>Übernehmen</translation>
    </message>
    <message>
        <source>This session is no longer open elsewhere.</source>
        <translation>Diese Sitzung ist nirgends sonst mehr geöffnet.</translation>
    </message>
    <message>
        <source>You can take it over when that ends.</source>
        <translation>Sie können sie übernehmen, wenn das endet.</translation>
    </message>
</context>
<context>
    <name>WaitingPrompts</name>
    <message>
        <source>and {count} more</source>
        <translation>und {count} weitere</translation>
    </message>
</context>
<context>
    <name>WaitingStep</name>
    <message>
        <source>Sign in</source>
        <translation>Anmelden</translation>
    </message>
    <message>
        <source>The sign-in continues in your browser, on the service&apos;s own page.</source>
        <translation>Die Anmeldung geht in Ihrem Browser weiter, auf der Seite des Dienstes.</translation>
    </message>
</context>
<context>
    <name>WebResultsBody</name>
    <message>
        <source>Show fewer</source>
        <translation>Weniger anzeigen</translation>
    </message>
</context>
<context>
    <name>Welcome</name>
    <message>
        <source>Asking {0}…</source>
        <translation>{0} wird gefragt …</translation>
    </message>
    <message>
        <source>Check that the key is complete and belongs to {0}.</source>
        <translation>Prüfen Sie, ob der Schlüssel vollständig ist und zu {0} gehört.</translation>
    </message>
    <message>
        <source>Choose another name.</source>
        <translation>Wählen Sie einen anderen Namen.</translation>
    </message>
    <message>
        <source>Preparing the sign-in…</source>
        <translation>Die Anmeldung wird vorbereitet …</translation>
    </message>
    <message>
        <source>There is another account called “{0}”.</source>
        <translation>Es gibt ein anderes Konto namens „{0}“.</translation>
    </message>
    <message>
        <source>You are signed in. Asking {0}…</source>
        <translation>Sie sind angemeldet. {0} wird gefragt …</translation>
    </message>
</context>
<context>
    <name>WholePage</name>
    <message>
        <source>These versions cannot be merged line by line. Choose one of them.</source>
        <translation>Diese Fassungen lassen sich nicht Zeile für Zeile zusammenführen. Wählen Sie eine als Ganzes.</translation>
    </message>
</context>
<context>
    <name>Window</name>
    <message>
        <source>Copy what you wrote in the field, close the window and start it again.</source>
        <translation>Kopieren Sie, was Sie in das Feld geschrieben haben, schließen Sie das Fenster und starten Sie es neu.</translation>
    </message>
    <message>
        <source>Desktop Agent could not be loaded, so nothing can be sent or opened here.</source>
        <translation>Desktop Agent konnte nicht geladen werden; hier kann nichts gesendet oder geöffnet werden.</translation>
    </message>
    <message>
        <source>Something went wrong inside the application.</source>
        <translation>In der Anwendung ist etwas schiefgegangen.</translation>
    </message>
    <message>
        <source>Your files and conversations are safe. The details are in the log.</source>
        <translation>Ihre Dateien und Unterhaltungen sind sicher. Einzelheiten stehen im Protokoll.</translation>
    </message>
</context>
<context>
    <name>WindowSessions</name>
    <message>
        <source>Take this session over to continue it here.</source>
        <translation>Übernehmen Sie diese Sitzung, um hier weiterzumachen.</translation>
    </message>
</context>
<context>
    <name>WordDialog</name>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Message to the agent</source>
        <translation>Nachricht an den Agenten</translation>
    </message>
    <message>
        <source>The agent reads this with your next message, so that it does not try the same again.</source>
        <translation>Der Agent liest dies mit Ihrer nächsten Nachricht, damit er nicht dasselbe wieder versucht.</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>Rückgängig machen</translation>
    </message>
    <message>
        <source>Why are you undoing this?</source>
        <translation>Warum machen Sie dies rückgängig?</translation>
    </message>
</context>
<context>
    <name>WorktreeBar</name>
    <message>
        <source>Dismiss</source>
        <translation>Schließen</translation>
    </message>
    <message>
        <source>Restore</source>
        <translation>Wiederherstellen</translation>
    </message>
</context>
<context>
    <name>WorktreeControl</name>
    <message numerus="yes">
        <source>%n files cannot be brought back</source>
        <translation>
            <numerusform>%n Datei kann nicht zurückgeholt werden</numerusform>
            <numerusform>%n Dateien können nicht zurückgeholt werden</numerusform>
        </translation>
    </message>
    <message>
        <source>Move it back to go on: git worktree move {0} {1}</source>
        <translation>Verschieben Sie ihn zurück, um weiterzumachen: git worktree move {0} {1}</translation>
    </message>
    <message>
        <source>Nothing new to bring back from {0}</source>
        <translation>Aus {0} gibt es nichts Neues zurückzuholen</translation>
    </message>
    <message>
        <source>The folder of the worktree {0} is gone.</source>
        <translation>Der Ordner des Worktrees {0} ist weg.</translation>
    </message>
    <message>
        <source>The folder {0} has all that the worktree has.</source>
        <translation>Der Ordner {0} hat alles, was der Worktree hat.</translation>
    </message>
    <message>
        <source>The worktree {0} is in the trash.</source>
        <translation>Der Worktree {0} ist im Papierkorb.</translation>
    </message>
    <message>
        <source>The worktree {0} was deleted.</source>
        <translation>Der Worktree {0} wurde gelöscht.</translation>
    </message>
    <message>
        <source>The worktree {0} was moved.</source>
        <translation>Der Worktree {0} wurde verschoben.</translation>
    </message>
    <message>
        <source>You can read this session. Its branch was {0}.</source>
        <translation>Sie können diese Sitzung lesen. Ihr Branch war {0}.</translation>
    </message>
    <message>
        <source>You can read this session. To go on with it, restore the worktree.</source>
        <translation>Sie können diese Sitzung lesen. Um weiterzumachen, stellen Sie den Worktree wieder her.</translation>
    </message>
    <message>
        <source>git does not know the worktree {0} any more.</source>
        <translation>git kennt den Worktree {0} nicht mehr.</translation>
    </message>
</context>
<context>
    <name>WorktreeRow</name>
    <message numerus="yes">
        <source>%n commits</source>
        <translation>
            <numerusform>%n Commit</numerusform>
            <numerusform>%n Commits</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n files</source>
        <translation>
            <numerusform>%n Datei</numerusform>
            <numerusform>%n Dateien</numerusform>
        </translation>
    </message>
    <message>
        <source>All is brought back</source>
        <translation>Alles ist zurückgeholt</translation>
    </message>
    <message>
        <source>Another process is working on it</source>
        <translation>Ein anderer Prozess arbeitet daran</translation>
    </message>
    <message>
        <source>Bring back…</source>
        <translation>Zurückholen …</translation>
    </message>
    <message>
        <source>Bring the changes of {0} back</source>
        <translation>Die Änderungen von {0} zurückholen</translation>
    </message>
    <message>
        <source>In the trash, until {0}</source>
        <translation>Im Papierkorb, bis {0}</translation>
    </message>
    <message>
        <source>Its folder is gone. Restore puts back what git knows of it.</source>
        <translation>Sein Ordner ist weg. „Wiederherstellen“ bringt zurück, was git davon kennt.</translation>
    </message>
    <message>
        <source>Looking…</source>
        <translation>Wird nachgesehen …</translation>
    </message>
    <message>
        <source>Move {0} to the trash</source>
        <translation>{0} in den Papierkorb verschieben</translation>
    </message>
    <message>
        <source>Moved to {0}</source>
        <translation>Verschoben nach {0}</translation>
    </message>
    <message>
        <source>Not brought back: {0}</source>
        <translation>Nicht zurückgeholt: {0}</translation>
    </message>
    <message>
        <source>Open</source>
        <translation>Öffnen</translation>
    </message>
    <message>
        <source>Open the session of {0}</source>
        <translation>Die Sitzung von {0} öffnen</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>Entfernen</translation>
    </message>
    <message>
        <source>Restore</source>
        <translation>Wiederherstellen</translation>
    </message>
    <message>
        <source>Restore {0}</source>
        <translation>{0} wiederherstellen</translation>
    </message>
    <message>
        <source>Worktree {0}</source>
        <translation>Worktree {0}</translation>
    </message>
    <message>
        <source>git does not know it any more. Restore makes it a worktree again.</source>
        <translation>git kennt ihn nicht mehr. „Wiederherstellen“ macht ihn wieder zum Worktree.</translation>
    </message>
    <message>
        <source>its session was deleted</source>
        <translation>seine Sitzung wurde gelöscht</translation>
    </message>
</context>
<context>
    <name>WorktreeSheet</name>
    <message>
        <source>A branch, a tag or a commit</source>
        <translation>Ein Branch, ein Tag oder ein Commit</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Create</source>
        <translation>Anlegen</translation>
    </message>
    <message>
        <source>Creating…</source>
        <translation>Wird angelegt …</translation>
    </message>
    <message>
        <source>Name</source>
        <translation>Name</translation>
    </message>
    <message>
        <source>New session in a worktree</source>
        <translation>Neue Sitzung in einem Worktree</translation>
    </message>
    <message>
        <source>Start from</source>
        <translation>Ausgehend von</translation>
    </message>
    <message>
        <source>The agent works in a second checkout of {0}, on its own branch. Your files stay as they are until you bring its changes back.</source>
        <translation>Der Agent arbeitet in einem zweiten Checkout von {0}, auf einem eigenen Branch. Ihre Dateien bleiben, wie sie sind, bis Sie seine Änderungen zurückholen.</translation>
    </message>
    <message>
        <source>The last commit</source>
        <translation>Der letzte Commit</translation>
    </message>
    <message>
        <source>What the set-up command prints</source>
        <translation>Ausgabe des Einrichtungsbefehls</translation>
    </message>
</context>
<context>
    <name>WorktreesDialog</name>
    <message>
        <source>Close</source>
        <translation>Schließen</translation>
    </message>
    <message>
        <source>Looking…</source>
        <translation>Wird nachgesehen …</translation>
    </message>
    <message>
        <source>Removed worktrees stay in the trash for a month, with everything in them.</source>
        <translation>Entfernte Worktrees bleiben einen Monat im Papierkorb, mit allem, was darin ist.</translation>
    </message>
    <message>
        <source>There are no worktrees.</source>
        <translation>Es gibt keine Worktrees.</translation>
    </message>
    <message>
        <source>Worktrees</source>
        <translation>Worktrees</translation>
    </message>
</context>
<context>
    <name>_Commands</name>
    <message>
        <source>Cannot be used: {problem}</source>
        <translation>Nicht verwendbar: {problem}</translation>
    </message>
    <message>
        <source>project</source>
        <translation>Projekt</translation>
    </message>
    <message>
        <source>server</source>
        <translation>Server</translation>
    </message>
    <message>
        <source>skill</source>
        <translation>Skill</translation>
    </message>
    <message>
        <source>yours</source>
        <translation>eigener</translation>
    </message>
</context>
<context>
    <name>_ExportProgress</name>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Export the conversation</source>
        <translation>Unterhaltung exportieren</translation>
    </message>
    <message>
        <source>Exporting…</source>
        <translation>Wird exportiert …</translation>
    </message>
    <message>
        <source>Exporting… {0}</source>
        <translation>Wird exportiert … {0}</translation>
    </message>
</context>
<context>
    <name>_Offers</name>
    <message>
        <source>class</source>
        <translation>Klasse</translation>
    </message>
    <message>
        <source>constant</source>
        <translation>Konstante</translation>
    </message>
    <message>
        <source>file</source>
        <translation>Datei</translation>
    </message>
    <message>
        <source>folder</source>
        <translation>Ordner</translation>
    </message>
    <message>
        <source>function</source>
        <translation>Funktion</translation>
    </message>
    <message>
        <source>module</source>
        <translation>Modul</translation>
    </message>
    <message>
        <source>resource</source>
        <translation>Ressource</translation>
    </message>
    <message>
        <source>session</source>
        <translation>Sitzung</translation>
    </message>
    <message>
        <source>source</source>
        <translation>Quelle</translation>
    </message>
    <message>
        <source>template</source>
        <translation>Vorlage</translation>
    </message>
    <message>
        <source>type</source>
        <translation>Typ</translation>
    </message>
</context>
<context>
    <name>_RemovableChip</name>
    <message>
        <source>Attached: {name}, {detail}</source>
        <translation>Angehängt: {name}, {detail}</translation>
    </message>
    <message>
        <source>Enter shows it, Delete removes it from the message.</source>
        <translation>Die Eingabetaste zeigt es, Entf nimmt es aus der Nachricht.</translation>
    </message>
    <message>
        <source>Remove it from the message</source>
        <translation>Aus der Nachricht nehmen</translation>
    </message>
    <message>
        <source>Remove {name} from the message</source>
        <translation>{name} aus der Nachricht nehmen</translation>
    </message>
    <message>
        <source>Too large for a model</source>
        <translation>Zu groß für ein Modell</translation>
    </message>
</context>
</TS>
