# ruff: noqa: E501
"""Names in code: their words find them, they find their words, and the whole comes first."""

from collections.abc import Sequence

import pytest
from ranking import assert_first

CALL = "Call createBasketSession(items) to start paying. It returns a token."
SHUT = "Call closeBasket(token) when the buyer leaves."
PARTS = "You create a basket for each session, and a session for each basket."
CASES = [
    # The parts find the whole.
    ("create basket session", CALL, [SHUT]),
    ("how do I create a session?", CALL, [SHUT]),
    ("close basket", SHUT, [CALL]),
    ("close baskets", SHUT, [CALL]),
    ("parse html response", "parseHTMLResponse gives a tree.", [CALL, SHUT]),
    ("http server error", "HTTPServerError2 is raised.", ["The server is idle.", "An error."]),
    ("http server error 2", "HTTPServerError2 is raised.", ["HTTPServerError3 is raised."]),
    ("get url", "getURL gives a string.", ["getName gives a string."]),
    ("get urls", "getURLs gives a list.", ["getNames gives a list."]),
    ("hook signing secret", "Set HOOK_SIGNING_SECRET to check calls.", [CALL]),
    ("max retry count", "Set max_retry_count to three.", ["Set max_wait to three."]),
    ("create basket session", "Run create-basket-session first.", [SHUT]),
    ("text splitter", "TextSplitter cuts long chapters.", ["A text is long.", SHUT]),
    ("basket class", "pkg.mod.BasketClass is frozen.", ["pkg.mod.BuyerClass is frozen."]),
    ("base 64 encoder", "Base64Encoder writes letters.", ["Base32Encoder writes letters."]),
    ("size of buffer", "bufferSizeInBytes is 4096.", ["headerSizeInBytes is 64.", CALL]),
    ("übersicht zeigen", "zeigeÜbersicht() öffnet die Übersicht.", ["zeigeHilfe() öffnet ein Fenster."]),
    ("crear sesión", "Llama a crearSesión(datos) primero.", ["Llama a cerrarCesta(datos) luego."]),
    ("создать корзину", "Вызовите создатьКорзину(товары).", ["Вызовите закрытьСчёт(товары)."]),
    ("購物車 create basket", "呼叫createBasket()建立購物車。", ["呼叫closeOrder()。"]),
    # The whole finds the parts.
    ("createBasketSession", PARTS, ["You leave a shop.", SHUT]),
    ("create_basket_session", PARTS, ["You leave a shop.", SHUT]),
    ("create-basket-session", PARTS, ["You leave a shop.", SHUT]),
    ("what does getURL do?", "You get the URL of a page.", ["You do the dishes."]),
    ("HTTPServerError2", "An error of the HTTP server has number 2.", ["The server is idle."]),
    ("parseHTMLResponse", "To parse a response as HTML, call us.", [SHUT]),
    # The whole comes before its parts, and its spellings meet.
    ("createBasketSession", CALL, [PARTS, SHUT]),
    ("createbasketsession", CALL, [PARTS, SHUT]),
    ("create_basket_session", CALL, [PARTS, SHUT]),
    ("createBasketSession", "Set create_basket_session to false.", [PARTS]),
    ("createBasketSession", "Run create-basket-session first.", [PARTS]),
    ("create-basket-session", CALL, [PARTS]),
    ("CREATE_BASKET_SESSION", CALL, [PARTS]),
    ("CreateBasketSession", CALL, [PARTS, SHUT]),
    ("HTTPServerError2", "HTTPServerError2 is raised when a server gives up for good.", ["Error 2 of the HTTP server.", "HTTPServerError3 is raised."]),
    ("pkg.mod.Class", "pkg.mod.Class is frozen, as are many other things.", ["mod.pkg.Class is open.", "The class of mod is in pkg."]),
    ("mod.BasketClass", "Import pkg.mod.BasketClass to begin with the tour.", ["The class of a mod is a basket."]),
    ("snake_case", "It takes snake_case as all other tools do.", ["A case for a snake.", "The snake is in the case."]),
    ("getURL", "getURL gives a string, or none where nothing is known.", ["Get the URL.", "getName"]),
    ("wi-fi", "The wifi is slow on Monday.", ["A fi is loud, and so is the pipe."]),
    ("email", "Write an e-mail to the mayor.", ["The mail comes at ten."]),
]  # fmt: skip


@pytest.mark.parametrize(("question", "right", "others"), CASES)
def test_what_writes_the_name_is_first(question: str, right: str, others: Sequence[str]):
    assert_first(question, right, others)
