// The screens that are loaded when they are first opened.

export { FilesScreen } from "./files";
export { GivenScreen } from "./given";
export { KeepScreen } from "./keep";
export { PatternsScreen } from "./patterns";
export { SettingsScreen } from "./settings";
export { UsageScreen } from "./usage";
