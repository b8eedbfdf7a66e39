(() => {
  const accounts = [...document.querySelectorAll("td[data-label='Account'] span.gl-avatar-labeled-sublabel")];
  const at = accounts.findIndex((account) => account.outerText === NAME);
  return document.querySelectorAll("td.col-max-role span")[at].outerText;
})()
