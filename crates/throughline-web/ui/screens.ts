// The screens in the order of the navigation. The terminal UI has the same screens under the same keys;
// `2` is the session that was open last.

export const SCREENS: { path: string; key: string; name: string; about: string; icon: string }[] = [
  { path: "", key: "1", name: "Search", about: "Search sessions and facts", icon: "M10.5 4a6.5 6.5 0 1 0 4 11.6l4.4 4.4 1.4-1.4-4.4-4.4A6.5 6.5 0 0 0 10.5 4Zm0 2a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9Z" },
  { path: "memory", key: "3", name: "Memory", about: "Facts, rules and pins", icon: "M6 3h12v18l-6-4-6 4V3Zm2 2v12.3l4-2.7 4 2.7V5H8Z" },
  { path: "given", key: "4", name: "Given", about: "What agents were given, and the switches", icon: "M4 4h16v2H4V4Zm0 5h10v2H4V9Zm0 5h16v2H4v-2Zm0 5h10v2H4v-2Z" },
  { path: "usage", key: "5", name: "Usage", about: "Tokens and cost", icon: "M4 20V10h4v10H4Zm6 0V4h4v16h-4Zm6 0v-7h4v7h-4Z" },
  { path: "keep", key: "6", name: "Keep", about: "Storage, retention, health and knowledge", icon: "M4 4h16v4H4V4Zm1 6h14v10H5V10Zm4 2v2h6v-2H9Z" },
  { path: "patterns", key: "7", name: "Patterns", about: "What recurs across sessions", icon: "M4 4h7v7H4V4Zm9 0h7v7h-7V4ZM4 13h7v7H4v-7Zm12.5 0 3.5 7h-7l3.5-7Z" },
  { path: "files", key: "8", name: "Files", about: "Who changed a file, how a command is run, how an error was fixed", icon: "M6 2h8l5 5v15H6V2Zm2 2v16h9V8h-4V4H8Z" },
  { path: "settings", key: "9", name: "Settings", about: "Settings of this browser and the configuration", icon: "M4 6h8v2H4V6Zm12 0h4v2h-4v2h-2V4h2v2ZM4 16h4v2H4v-2Zm8 0h8v2h-8v2h-2v-6h2v2Zm-8-5h16v2H4v-2Z" },
];

export const SESSION_KEY = "2";
