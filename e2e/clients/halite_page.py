"""Halite's page in Chromium: `halite_page.py URL USER PASSWORD`. Log in, see minions, run a command, check the highstate."""
import json
import sys

from browser import Browser, wait

URL, USER, PASSWORD = sys.argv[1:4]


def main():
    browser = Browser()
    try:
        try:
            check(browser)
        except SystemExit:
            print("state of the page:", browser.eval(STATE), flush=True)
            raise
        if browser.dialogs:
            sys.exit(f"the page complained: {browser.dialogs}")
    finally:
        browser.close()


def check(browser):
    shown = lambda selector: f"!!document.querySelector('{selector}')"

    def login_form():
        # Chromium drops what it is loading when the network changes, as it does while hosts of the test come up.
        if browser.eval(DROPPED):
            browser.go(f"{URL}/app/console")
        return browser.eval(shown("input[name=password]"))

    browser.go(f"{URL}/app/console")
    wait("the login form", login_form)
    # The login method is a preference of the browser; the page's default is pam.
    browser.eval(PREFERENCES)
    browser.go(f"{URL}/app/console")
    wait("the page", lambda: browser.eval("document.readyState === 'complete'"))
    wait("the login form", login_form)
    browser.eval(LOGIN % {"user": json.dumps(USER), "password": json.dumps(PASSWORD)})
    wait("the user's name", lambda: USER in browser.text())
    print("fine: logged in", flush=True)
    wait("the console", lambda: browser.eval(shown("#job-button")))
    browser.eval(MINIONS)
    wait("the minions", lambda: "h1" in browser.text() and "h2" in browser.text())
    print("fine: the minions are there", flush=True)
    browser.eval(COMMAND)
    wait("the function to be known", lambda: browser.eval(READY))
    browser.eval(EXECUTE)
    wait("the result", lambda: browser.eval(RESULT))
    print("fine: a command was run, and its result came", flush=True)
    browser.eval(HIGHSTATE)
    wait("the highstate check", lambda: browser.eval(DIRTY), 60)
    print("fine: the highstate check marks what would change", flush=True)
    alerts = json.loads(browser.eval(ALERTS))
    if alerts:
        sys.exit(f"the page shows alerts: {alerts}")


STATE = """
JSON.stringify({
  address: location.href, ready: document.readyState, text: document.body.innerText.slice(0, 300),
  scripts: Array.from(document.scripts).map(script => script.src),
  loaded: performance.getEntriesByType('resource').map(one => [one.name, one.responseStatus, Math.round(one.duration)]),
  html: document.body.innerHTML.slice(0, 1500),
})
"""

# The page's data, as its own code sees them.
SCOPE = "angular.element(document.querySelector('[ng-controller=BaseController]')).scope()"

DROPPED = """document.readyState === 'complete' && performance.getEntriesByType('resource')
    .some(one => one.initiatorType === 'script' && one.responseStatus === 0)"""
PREFERENCES = """
(function() {
  var preferences = angular.element(document.body).injector().get('AppPref');
  preferences.set('saltApi', angular.extend({}, preferences.get('saltApi'), {eauth: 'file'}));
})()
"""

PUT = """
function put(input, value) {
  input.value = value;
  input.dispatchEvent(new Event('input', {bubbles: true}));
  input.dispatchEvent(new Event('change', {bubbles: true}));
}
"""

LOGIN = "(function() {" + PUT + """
  put(document.querySelector('input[name=username]'), %(user)s);
  put(document.querySelector('input[name=password]'), %(password)s);
  document.querySelector('#login-button').click();
})()
"""

COMMAND = "(function() {" + PUT + """
  put(document.querySelector('#idFunctionTarget'), '*');
  put(document.querySelector('#idModuleFunction'), 'test.ping');
})()
"""

MINIONS = """document.querySelector("[ss-toggle-union=\\"'minion'\\"]").click()"""

READY = "!document.querySelector('button[name=execute]').disabled"

EXECUTE = "document.querySelector('button[name=execute]').click()"

RESULT = """
(function() {
  var jobs = %s.getJobs().values().filter(function(job) { return job.cmd && job.cmd.fun === 'test.ping' && job.done; });
  return jobs.length > 0 && jobs[0].results.values().length === 2 && jobs[0].results.values().every(function(result) {
    return result['return'] === true && !result.fail;
  });
})()
""" % SCOPE

HIGHSTATE = """
(function() {
  var buttons = Array.from(document.querySelectorAll('[ng-click="checkHighstateConsistency()"]'));
  buttons[0].click();
})()
"""

DIRTY = """
%s.getMinions().values().every(function(minion) { return minion.highstateStatus && minion.highstateStatus.dirty; })
""" % SCOPE

ALERTS = "JSON.stringify(%s.alerts())" % SCOPE

main()
