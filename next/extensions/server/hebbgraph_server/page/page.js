document.getElementById("main").textContent = "The page is not here yet; see /docs.";
