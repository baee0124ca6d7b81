/** The toolbar button and its shortcut open the side panel; the click is also what lets the panel read the tab. */

chrome.action.onClicked.addListener((tab) => {
  if (tab.id !== undefined) void chrome.sidePanel.open({ tabId: tab.id });
});
